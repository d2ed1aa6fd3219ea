import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import foo, { configMapName } from '../../functions/providers/foo/provider.ts';
import type { HttpKubeClient } from '../../shared/kube/client.ts';
import { CLUSTER_REQUESTS, CONFIG_MAPS, NAMESPACES, SECRETS } from '../../shared/kube/resources.ts';
import { conditionOf, hasCondition } from '../../shared/status.ts';
import { KcpTenants, MADE } from '../support/kcp-tenants.ts';
import { isReady } from '../support/orders.ts';
import { configMapValue, inOrder, installedFoo, position, requestsIn } from '../support/requests.ts';
import { createStage, type Stage } from '../support/stage.ts';
import { eventually } from '../support/wait.ts';
import type { TenantWorkspace } from '../support/workspaces.ts';

const FOOS = foo.api.type;
/** Name of an order in both workspaces. */
const NAME = 'mine';

let stage: Stage;
let tenants: KcpTenants;
let platform: HttpKubeClient;
let one: TenantWorkspace;
let two: TenantWorkspace;

beforeAll(async () => {
  stage = await createStage({ provider: foo, kcp: true });
  tenants = new KcpTenants(stage);
  platform = tenants.platform;
  await stage.run();
  [one, two] = await Promise.all([tenants.bound('one'), tenants.bound('two')]);
});

afterAll(() => stage?.stop());

describe('the same order in two workspaces', () => {
  test('is served in each, with an identity, access and ConfigMaps of its own', async () => {
    await Promise.all([tenants.orders(one).create(NAME, 'first'), tenants.orders(two).create(NAME, 'second')]);
    const objects = await Promise.all([one, two].map((workspace) => tenants.orders(workspace).untilReady(NAME)));
    for (const object of objects) {
      expect(object.metadata.finalizers).toEqual([foo.finalizer]);
      expect(conditionOf(object, 'Ready')).toMatchObject({ status: 'True', reason: 'ReconcileSuccess' });
    }
    for (const [workspace, value] of [
      [one, 'first'],
      [two, 'second'],
    ] as const) {
      const name = configMapName(workspace.logicalCluster);
      expect(await configMapValue(workspace.client, name)).toBe(value);
      expect(await configMapValue(await tenants.workloadCluster(workspace, NAME), `${name}-wl`)).toBe(value);
      const { items } = await workspace.client.list(CONFIG_MAPS, { namespace: 'default' });
      expect(items.map(({ metadata }) => metadata.name).filter((each) => each.startsWith('foo-'))).toEqual([name]);
      expect(tenants.namespaceOf(workspace)).toMatch(/^kcp--/);
      expect(await requestsIn(platform, tenants.namespaceOf(workspace), 'foo--')).toEqual([
        `AccessRequest/foo--${NAME}--wl`,
        `ClusterRequest/foo--${NAME}--wl`,
        `Secret/foo--${NAME}--wl.kubeconfig`,
        'Secret/foo--workspace--mcp',
      ]);
      expect(await tenants.madeIn(workspace)).toContain('ServiceAccount service-provider-foo');
    }
  });

  test('follows a change in the workspace that it was made in', async () => {
    const before = await tenants.orders(two).read(NAME);
    await tenants.orders(one).change(NAME, 'changed');
    const object = await tenants.orders(one).untilReady(NAME);
    expect(object.status).toMatchObject({ observedGeneration: 2, foo: 'changed' });
    expect(await installedFoo(one)).toBe('changed');
    expect(await tenants.orders(two).read(NAME)).toEqual(before);
  });

  test('ends in one workspace without a trace there or on the platform, and the other is left alone', async () => {
    const workload = await tenants.workloadCluster(one, NAME);
    const name = configMapName(one.logicalCluster);
    const other = async () => [
      (await tenants.orders(two).read(NAME))?.metadata.resourceVersion,
      (await two.client.get(CONFIG_MAPS, configMapName(two.logicalCluster), 'default'))?.metadata.resourceVersion,
      (await workload.get(CONFIG_MAPS, `${configMapName(two.logicalCluster)}-wl`, 'default'))?.metadata.resourceVersion,
      (await tenants.secretOf(two))?.metadata.resourceVersion,
    ];
    const before = await other();
    expect(before.every(Boolean)).toBe(true);
    const history = await stage.record(
      { client: one.client, types: [FOOS, CONFIG_MAPS, ...MADE] },
      { client: platform, types: [CLUSTER_REQUESTS, SECRETS] },
    );
    await tenants.orders(one).remove(NAME);
    await tenants.orders(one).untilGone(NAME);
    await eventually('the history tells it', () => history.of(FOOS, { type: 'DELETED' })[0]);
    history.stop();

    expect(await tenants.madeIn(one)).toEqual([]);
    expect(await configMapValue(one.client, name)).toBeUndefined();
    expect(await configMapValue(workload, `${name}-wl`)).toBeUndefined();
    expect(await requestsIn(platform, tenants.namespaceOf(one), '')).toEqual([]);
    await eventually(
      'the tenant namespace is gone',
      async () => !(await platform.get(NAMESPACES, tenants.namespaceOf(one))),
    );
    expect(await other()).toEqual(before);
    expect(await tenants.madeIn(two)).toContain('ServiceAccount service-provider-foo');

    const removals = history.entries
      .filter(
        (entry) =>
          entry.type === 'DELETED' &&
          (!entry.namespace.startsWith('kcp--') || entry.namespace === tenants.namespaceOf(one)),
      )
      .filter((entry) => entry.name !== `foo--${NAME}--wl.kubeconfig`);
    // Each token has a Secret, of a name that nobody can know before.
    expect(inOrder(removals).map((each) => each.replace(/-token-[0-9a-f]+$/, '-token'))).toEqual([
      `ConfigMap ${name}`,
      `ClusterRequest foo--${NAME}--wl`,
      ...inOrder(removals.filter(({ kind }) => kind.endsWith('Binding'))),
      ...inOrder(removals.filter(({ kind }) => kind.endsWith('Role'))),
      'Secret service-provider-foo-token',
      'ServiceAccount service-provider-foo',
      'ServiceAccount service-provider-foo-issuer',
      'Secret foo--workspace--mcp',
      `Foo ${NAME}`,
    ]);
    expect(removals.filter(({ kind }) => kind.endsWith('Binding')).length).toBeGreaterThan(1);
    const uninstalled = history.of(FOOS).find(({ object }) => hasCondition(object, 'Uninstalled'));
    expect(position(uninstalled)).toBeGreaterThan(position(history.of(CONFIG_MAPS, { type: 'DELETED', name })[0]));
    expect(position(uninstalled)).toBeLessThan(position(removals.find(({ kind }) => kind === 'ClusterRequest')));
  });
});

describe('two orders in one workspace', () => {
  test('the older is served, the younger is told by whom it is kept out, and follows by itself', async () => {
    const orders = tenants.orders(one);
    await orders.create('older', 'older');
    await orders.untilReady('older');
    await orders.create('younger', 'younger');
    const rejected = await orders.untilReason('younger', 'Rejected');
    expect(conditionOf(rejected, 'Ready')).toMatchObject({ status: 'False' });
    expect(conditionOf(rejected, 'Ready')?.message).toContain('default/older');
    expect(rejected.metadata.finalizers).toBeUndefined();
    expect(await installedFoo(one)).toBe('older');
    expect((await requestsIn(platform, tenants.namespaceOf(one), 'foo--')).join()).not.toContain('younger');

    await orders.remove('older');
    await orders.untilGone('older');
    const served = await orders.untilReady('younger');
    expect(served.metadata.finalizers).toEqual([foo.finalizer]);
    expect(await installedFoo(one)).toBe('younger');
    expect((await requestsIn(platform, tenants.namespaceOf(one), 'foo--')).join()).not.toContain('older');
    await orders.remove('younger');
    await orders.untilGone('younger');
    expect(await tenants.madeIn(one)).toEqual([]);
  });

  test('of many that come at once exactly one is served', async () => {
    const orders = tenants.orders(one);
    const names = ['a', 'b', 'c', 'd'];
    await Promise.all(names.map((name) => orders.create(name, name)));
    const objects = await eventually('each has its answer', async (seen) => {
      const all = await Promise.all(names.map((name) => orders.read(name)));
      seen(all);
      const answered = all.every(
        (object) => object && (isReady(object) || conditionOf(object, 'Ready')?.reason === 'Rejected'),
      );
      return answered && all;
    });
    await stage.idle();
    const ready = objects.filter((object) => object && isReady(object)).map((object) => object?.metadata.name ?? '');
    expect(ready).toHaveLength(1);
    expect(await installedFoo(one)).toBe(ready[0]);
    const claimed = (await one.client.list(FOOS)).items.filter(({ metadata }) => metadata.finalizers);
    expect(claimed.map(({ metadata }) => metadata.name)).toEqual(ready);
    // Those that were never served go at once.
    await Promise.all(names.filter((name) => !ready.includes(name)).map((name) => orders.remove(name)));
    await Promise.all(names.filter((name) => !ready.includes(name)).map((name) => orders.untilGone(name)));
    expect(isReady((await orders.read(ready[0] ?? '')) ?? { metadata: { name: '' } })).toBe(true);
  });
});
