import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import foo, { configMapName } from '../../functions/providers/foo/provider.ts';
import type { HttpKubeClient } from '../../shared/kube/client.ts';
import { FUNCTION_NAMES } from '../../shared/events/catalogue.ts';
import { ACCESS_REQUESTS, CLUSTER_REQUESTS } from '../../shared/kube/resources.ts';
import type { Activator } from '../support/activator.ts';
import type { ControlPlane } from '../support/control-plane.ts';
import type { History } from '../support/history.ts';
import { callsOf, overlaps } from '../support/journal.ts';
import { KcpTenants } from '../support/kcp-tenants.ts';
import { type KnativeShape, startKnativeShape } from '../support/knative-shape.ts';
import { configMapValue, inOrder, requestsIn } from '../support/requests.ts';
import { createStage, PROJECT, type Stage } from '../support/stage.ts';
import { eventually } from '../support/wait.ts';
import type { TenantWorkspace } from '../support/workspaces.ts';

/** Longer than a service without work lives. */
const IDLE_MS = 2_000;
const RUN_LIMIT_MS = 8_000;
const NAME = 'cp';

let stage: Stage;
let shape: KnativeShape;
let platform: HttpKubeClient;
let controlPlane: ControlPlane;
let history: History;

beforeAll(async () => {
  stage = await createStage({ provider: foo, kcp: true, config: { pollInterval: '0s' } });
  platform = stage.landscape.platform.client;
  [shape, controlPlane] = await Promise.all([
    startKnativeShape(stage, { idleMs: IDLE_MS, env: { RUN_LIMIT: `${RUN_LIMIT_MS / 1_000}s` } }),
    stage.landscape.createControlPlane(PROJECT, NAME),
  ]);
  history = await stage.record({ client: platform, types: [ACCESS_REQUESTS, CLUSTER_REQUESTS] });
});

afterAll(async () => {
  await shape?.stop();
  await stage?.stop();
});

const activator = (name: (typeof FUNCTION_NAMES)[number]): Activator => shape.activators.get(name) as Activator;
const running = async (): Promise<string[]> => {
  const services = await Promise.all(FUNCTION_NAMES.map((name) => activator(name).service()));
  return FUNCTION_NAMES.filter((_, index) => services[index] !== undefined);
};
const scaledToZero = (): Promise<boolean> =>
  eventually('all services are at zero', async (seen) => {
    const left = await running();
    seen(left);
    return left.length === 0;
  });

describe('functions that scale to zero, behind a dispatcher', () => {
  test('serve a control plane: from zero, and back to zero', async () => {
    expect(await running()).toEqual([]);
    await stage.orders.create(NAME, 'one');
    await stage.orders.untilReady(NAME);
    expect(await configMapValue(controlPlane.client, configMapName(`${PROJECT}/${NAME}`))).toBe('one');
    expect(activator('resolve-credentials').coldStarts.length).toBeGreaterThan(0);
    expect(activator('provider-install').coldStarts).toHaveLength(1);
    expect(activator('provider-delete').coldStarts).toEqual([]);
    await scaledToZero();
  });

  test('a change wakes what it needs, and nothing else', async () => {
    const before = activator('provider-delete').coldStarts.length;
    await stage.orders.change(NAME, 'two');
    await stage.orders.untilReady(NAME);
    expect(await configMapValue(controlPlane.client, configMapName(`${PROJECT}/${NAME}`))).toBe('two');
    expect(activator('provider-delete').coldStarts.length).toBe(before);
  });

  test('an installation almost as long as the run limit is not cut by the idle stop', async () => {
    await scaledToZero();
    shape.desk.hold('install', NAME);
    await stage.orders.change(NAME, 'long');
    await eventually('the installation has begun', () => callsOf(shape.desk.journal, NAME).includes('install 3 long'));
    await sleep(RUN_LIMIT_MS - 2_500);
    shape.desk.release('install', NAME);
    await stage.orders.untilReady(NAME);
    expect(callsOf(shape.desk.journal, NAME).filter((call) => call === 'install 3 long')).toHaveLength(1);
    expect(shape.desk.journal.filter(({ event }) => event === 'signal' || event === 'failed')).toEqual([]);
  });

  test('a service that is killed in the middle of an installation: it is done again, one at a time', async () => {
    shape.desk.hold('install', NAME);
    await stage.orders.change(NAME, 'killed');
    await eventually('the installation has begun', () =>
      callsOf(shape.desk.journal, NAME).includes('install 4 killed'),
    );
    await shape.killService('provider-install');
    shape.desk.release('install', NAME);
    await stage.orders.untilReady(NAME);
    expect(await configMapValue(controlPlane.client, configMapName(`${PROJECT}/${NAME}`))).toBe('killed');
    expect(overlaps(shape.desk.journal)).toEqual([]);
  });

  test('a dispatcher that is killed in the middle of an installation: what it began ends, and another does it', async () => {
    shape.desk.hold('install', NAME);
    await stage.orders.change(NAME, 'orphaned');
    await eventually('the installation has begun', () =>
      callsOf(shape.desk.journal, NAME).includes('install 5 orphaned'),
    );
    await shape.killDispatcher();
    // Its caller has hung up.
    await eventually('told to end', () =>
      shape.desk.journal.some(({ event, generation }) => event === 'signal' && generation === 5),
    );
    shape.desk.release('install', NAME);
    await stage.orders.untilReady(NAME);
    expect(await configMapValue(controlPlane.client, configMapName(`${PROJECT}/${NAME}`))).toBe('orphaned');
    expect(overlaps(shape.desk.journal)).toEqual([]);
  });

  test('and remove it in the promised order, with nothing left', async () => {
    await stage.orders.remove(NAME);
    await stage.orders.untilGone(NAME);
    expect(await configMapValue(controlPlane.client, configMapName(`${PROJECT}/${NAME}`))).toBeUndefined();
    expect(await requestsIn(platform, controlPlane.platformNamespace, 'foo--')).toEqual([]);
    const ours = ({ name }: { name: string }): boolean => name.startsWith('foo--');
    expect(inOrder(history.of(ACCESS_REQUESTS, { type: 'ADDED' }).filter(ours))).toHaveLength(2);
    expect(inOrder(history.of(CLUSTER_REQUESTS, { type: 'ADDED' }).filter(ours))).toHaveLength(1);
  });

  test('serve a kcp workspace as well', async () => {
    const tenants = new KcpTenants(stage);
    const workspace: TenantWorkspace = await tenants.bound('knative');
    const orders = tenants.orders(workspace);
    await orders.create('mine', 'one');
    await orders.untilReady('mine');
    expect(await configMapValue(workspace.client, configMapName(workspace.logicalCluster))).toBe('one');
    await orders.remove('mine');
    await orders.untilGone('mine');
    expect(await configMapValue(workspace.client, configMapName(workspace.logicalCluster))).toBeUndefined();
    const starts = FUNCTION_NAMES.flatMap((name) => activator(name).coldStarts);
    process.stderr.write(`cold starts: ${starts.map((ms) => Math.round(ms)).join(', ')} ms\n`);
  });
});
