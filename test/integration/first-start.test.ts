import { join } from 'node:path';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { foo } from '../../functions/providers/foo/provider.ts';
import type { HttpKubeClient } from '../../shared/kube/client.ts';
import { LEASES } from '../../shared/kube/resources.ts';
import type { KubeObject } from '../../shared/model/kubernetes.ts';
import { DeliveryState } from '../../shared/queue/delivery-state.ts';
import { connectKcp } from '../control-planes/kcp.ts';
import { type StartedRedis, startRedis } from '../control-planes/redis.ts';
import { ensureNamespace } from '../support/cluster-provider/access.ts';
import { installCrds, openmcpCrds } from '../support/crds.ts';
import { eventually } from '../support/wait.ts';
import { becomesReady, runBridge, type RunningBridge, workspacesBelow } from './bridge-harness.ts';
import { keyOf } from './redis-harness.ts';

/** The provider's own namespace in `bridge-harness.ts`. */
const OWN = 'service-provider';
const LONG = { longestLeaseMs: 600_000 };

let platform: HttpKubeClient;
let redis: StartedRedis;
const running: RunningBridge[] = [];

beforeAll(async () => {
  const create = await workspacesBelow(connectKcp(inject('kcpKubeconfig')), 'first-start');
  ({ client: platform } = await create('home'));
  await Promise.all([
    ensureNamespace(platform, OWN),
    installCrds(platform, [...openmcpCrds('clusters.'), foo.config.crd() as KubeObject, foo.api.crd() as KubeObject]),
  ]);
  redis = await startRedis({ dir: join(inject('runFolder'), 'first-start') });
}, 120_000);

afterAll(async () => {
  for (const each of running) await each.stop();
  await redis?.stop();
});

async function startBridge(): Promise<RunningBridge> {
  const bridge = await runBridge(redis, { platform, onboarding: platform }, LONG);
  running.push(bridge);
  await becomesReady(bridge);
  await eventually('there is an epoch', async () => (await bridge.state.readEpoch()).sameServer);
  return bridge;
}
const granted = ({ state }: RunningBridge): Promise<boolean> =>
  state.acquire(keyOf('any', { provider: foo.name }), DeliveryState.token(), 1_000);

test('leases are granted at once at the first start, and never again before the longest of before has ended', async () => {
  const first = await startBridge();
  expect(await granted(first)).toBe(true);
  expect((await platform.get(LEASES, 'foo-queue', OWN))?.metadata.name).toBe('foo-queue');
  await first.stop();
  running.pop();

  await redis.command('FLUSHALL');
  const second = await startBridge();
  expect(await granted(second)).toBe(false);
});

test('a mark that somebody removed is left again by the next bridge', async () => {
  await platform.delete(LEASES, 'foo-queue', { namespace: OWN });
  await startBridge();
  const mark = await eventually('it is there again', () => platform.get(LEASES, 'foo-queue', OWN));
  expect(mark.metadata.namespace).toBe(OWN);
});
