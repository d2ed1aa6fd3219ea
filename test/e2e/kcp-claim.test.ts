import { afterAll, beforeAll, expect, test } from 'vitest';
import foo, { configMapName } from '../../functions/providers/foo/provider.ts';
import type { RunningRuntime } from '../../deploy/command/compose.ts';
import { CLUSTER_REQUESTS, NAMESPACES } from '../../shared/kube/resources.ts';
import { OPERATION_ANNOTATION, OPERATION_IGNORE, RUNTIME_LABEL } from '../../shared/names.ts';
import { conditionOf } from '../../shared/status.ts';
import { callsOf } from '../support/journal.ts';
import { KcpTenants } from '../support/kcp-tenants.ts';
import { isReady } from '../support/orders.ts';
import { Puppet } from '../support/puppet.ts';
import { configMapValue } from '../support/requests.ts';
import { servedInKcp, strip } from '../support/served.ts';
import { createStage, type Stage } from '../support/stage.ts';
import { eventually } from '../support/wait.ts';

/** Which object of a workspace is served is nothing that its tenant can write. */
const FOOS = foo.api.type;

let stage: Stage;
let tenants: KcpTenants;
let runtime: RunningRuntime;
const puppet = new Puppet();
const deletesOf = (name: string): number => callsOf(puppet.journal, name).filter((call) => call === 'delete').length;
const start = (): Promise<RunningRuntime> =>
  stage.run({ workspaceTuning: { teardownPatienceMs: 4_000, tokenLifeSeconds: 600, renewalThreshold: 0.8 } });

beforeAll(async () => {
  stage = await createStage({ provider: puppet.provider, kcp: true });
  tenants = new KcpTenants(stage);
  runtime = await start();
});

afterAll(() => stage?.stop());

test('of three objects that come with our finalizer one is served, with one cluster', async () => {
  const workspace = await tenants.bound('planted');
  const orders = tenants.orders(workspace);
  const names = ['a', 'b', 'c'];
  // What a tenant who knows us would write.
  const planted = (name: string) => ({
    metadata: { name, namespace: 'default', finalizers: [foo.finalizer] },
    spec: { foo: name },
  });
  await Promise.all(names.map((name) => workspace.client.create(FOOS, planted(name))));
  const objects = await eventually('each has its answer', async (seen) => {
    const all = await Promise.all(names.map((name) => orders.read(name)));
    seen(all);
    return all.every((each) => each && (isReady(each) || conditionOf(each, 'Ready')?.reason === 'Rejected')) && all;
  });
  await stage.idle();
  const ready = objects.flatMap((each) => (each && isReady(each) ? [each.metadata.name] : []));
  expect(ready).toHaveLength(1);
  const [winner = ''] = ready;
  const { items } = await tenants.platform.list(CLUSTER_REQUESTS, { namespace: tenants.namespaceOf(workspace) });
  expect(items.map(({ metadata }) => metadata.name)).toEqual([`foo--${winner}--wl`]);

  // The others go, and take nothing along.
  const [loser = '', next = ''] = names.filter((name) => name !== winner);
  await orders.remove(loser);
  await orders.untilGone(loser);
  expect(await configMapValue(workspace.client, configMapName(workspace.logicalCluster))).toBe(winner);
  expect(await tenants.madeIn(workspace)).toContain('ServiceAccount service-provider-foo');
  expect(callsOf(puppet.journal, loser)).toEqual([]);
  await orders.remove(winner);
  await orders.untilGone(winner);
  await orders.untilReady(next);
  await orders.remove(next);
  await orders.untilGone(next);
  await tenants.untilPlatformIsClean(workspace);
});

test('an object that waits and goes without ever having had its turn leaves nothing behind', async () => {
  const served = await servedInKcp(tenants, 'served');
  const { workspace, orders } = served;
  // So it waits for as long as the test wants.
  const annotations = { [OPERATION_ANNOTATION]: OPERATION_IGNORE };
  await workspace.client.create(FOOS, {
    metadata: { name: 'waiting', namespace: 'default', annotations },
    spec: { foo: 'waiting' },
  });
  await stage.idle();
  await orders.remove('served');
  await orders.untilGone('served');
  await orders.remove('waiting');
  await orders.untilGone('waiting');
  await tenants.untilPlatformIsClean(workspace);
  await eventually('nothing is left in the workspace', async (seen) => {
    const { items } = await workspace.client.list(NAMESPACES, { labelSelector: RUNTIME_LABEL });
    const left = [...(await tenants.madeIn(workspace)), ...items.map(({ metadata }) => metadata.name)];
    seen(left);
    return left.length === 0;
  });
  expect(await orders.read('waiting')).toBeUndefined();
});

test('what a stripped object left is removed before the next of the workspace is served', async () => {
  const served = await servedInKcp(tenants, 'first');
  await served.orders.create('second', 'second');
  await served.orders.untilReason('second', 'Rejected');
  const held = puppet.hold('delete', 'first');
  await served.orders.remove('first');
  await strip(served);
  const call = await held;
  await served.orders.untilReason('second', 'WaitingForEarlierObject');
  call.release();
  await served.orders.untilReady('second');
  expect(deletesOf('first')).toBe(1);
  expect((await served.left()).join()).not.toContain('first');
  await served.orders.remove('second');
  await served.orders.untilGone('second');
  await tenants.untilPlatformIsClean(served.workspace);
});

test('a workspace that unbinds after its objects were stripped leaves nothing behind elsewhere', async () => {
  const served = await servedInKcp(tenants, 'fled');
  await stage.idle();
  await runtime.stop();
  await served.orders.remove('fled');
  await strip(served);
  await tenants.unbind(served.workspace);
  await eventually('it is unbound', async () => (await tenants.bindingOf(served.workspace)) === undefined);
  runtime = await start();
  await tenants.untilPlatformIsClean(served.workspace);
  // The workspace itself is out of reach.
  const [, onWorkload] = await served.installed();
  expect(onWorkload).toBeUndefined();
  expect(deletesOf('fled')).toBe(1);
});
