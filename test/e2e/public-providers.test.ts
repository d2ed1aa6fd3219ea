import { join } from 'node:path';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { startRuntime } from '../../deploy/command/compose.ts';
import { ACCESS_REQUESTS, CONFIG_MAPS, CRDS } from '../../shared/kube/resources.ts';
import { createLogger } from '../../shared/log.ts';
import type { KubeObject, KubeObjectOf, ServiceObject } from '../../shared/model/kubernetes.ts';
import { requestName } from '../../shared/names.ts';
import { queueKeys } from '../../shared/queue/keys.ts';
import { connectKcp } from '../control-planes/kcp.ts';
import { startRedis } from '../control-planes/redis.ts';
import type { ControlPlane } from '../support/control-plane.ts';
import { createLandscape, type Landscape } from '../support/landscape.ts';
import { ordersIn } from '../support/orders.ts';
import { PUBLIC_PROVIDERS } from '../support/public-providers/all.ts';
import { installedBy } from '../support/public-providers/public-provider.ts';
import { installProvider, PROVIDER_NAMESPACE } from '../support/service.ts';
import { PROJECT, QUICK } from '../support/stage.ts';
import { eventually } from '../support/wait.ts';

/** All at once: on one landscape, one control plane and one Redis, where nothing of one may reach another. */

const started = new AsyncDisposableStack();
let landscape: Landscape;
let controlPlane: ControlPlane;
let redis: Redis;

beforeAll(async () => {
  landscape = await createLandscape({ kcp: connectKcp(inject('kcpKubeconfig')), dir: inject('runFolder') });
  started.defer(() => landscape.stop());
  const { dir, platform, onboarding } = landscape;
  const server = await startRedis({ dir: join(dir, 'redis') });
  started.defer(() => server.stop());
  redis = new Redis(server.url, { maxRetriesPerRequest: null, replyMapping: 'legacy' });
  started.defer(() => redis.disconnect());
  for (const { provider, config } of PUBLIC_PROVIDERS) {
    await installProvider(landscape, provider, config ? { config } : {});
    const runtime = await startRuntime({
      ...QUICK,
      provider,
      platform: platform.client,
      onboarding: onboarding.client,
      redis: { url: server.url },
      providerNamespace: PROVIDER_NAMESPACE,
      log: createLogger('info', provider.name, join(dir, `${provider.name}.log`)),
    });
    started.defer(() => runtime.stop());
  }
  controlPlane = await landscape.createControlPlane(PROJECT, 'cp');
});

afterAll(() => started.disposeAsync());

test.each(PUBLIC_PROVIDERS.map((one) => ({ name: one.provider.name, ...one })))(
  '$name is served with its ProviderConfig, and removed',
  async ({ provider, order, installed, pollMs }) => {
    const { type } = provider.api;
    const orders = ordersIn(landscape.onboarding.client, type, PROJECT);
    await eventually('the order is taken', () =>
      landscape.onboarding.client.create<ServiceObject>(type, {
        metadata: { name: 'cp', namespace: PROJECT },
        spec: order,
      }),
    );
    const object = await orders.untilReady('cp');
    expect(object.metadata.finalizers).toEqual([`${type.group}/finalizer`]);
    const map = await controlPlane.client.get<KubeObjectOf<{ data?: object }>>(
      CONFIG_MAPS,
      installedBy(provider.name),
      'default',
    );
    expect(map?.data).toEqual(installed);
    const request = requestName(provider.controllerName, 'cp', 'mcp');
    const { platformNamespace } = controlPlane;
    expect(await landscape.platform.client.get(ACCESS_REQUESTS, request, platformNamespace)).toBeDefined();

    // One timer, at its poll interval from now or a tenth beside; none for one without.
    const timers = await eventually('the pass is settled', async (seen) => {
      const now = (await redis.zrange(queueKeys(provider.name).timers, 0, '-1', 'WITHSCORES')).map(Number);
      seen(now);
      return now.length === (pollMs === undefined ? 0 : 2) && now;
    });
    // Everything shorter would be the safety timer, or another unit.
    const [, due] = timers || [];
    const left = due === undefined ? undefined : due - Date.now();
    expect(left === undefined).toBe(pollMs === undefined);
    expect(left ?? 0).toBeLessThanOrEqual((pollMs ?? 0) * 1.1);
    expect(left ?? 0).toBeGreaterThanOrEqual((pollMs ?? 0) / 2);

    await orders.remove('cp');
    await orders.untilGone('cp');
    expect(await controlPlane.client.get(CONFIG_MAPS, installedBy(provider.name), 'default')).toBeUndefined();
    expect(await landscape.platform.client.get(ACCESS_REQUESTS, request, platformNamespace)).toBeUndefined();
  },
);

test('a provider without ProviderConfig installs no such type', async () => {
  const { items } = await landscape.platform.client.list<KubeObject>(CRDS);
  const groups = items.map(({ metadata }) => metadata.name).filter((name) => name.startsWith('providerconfigs.'));
  expect(groups.sort()).toEqual(
    PUBLIC_PROVIDERS.filter(({ config }) => config)
      .map(({ provider }) => `providerconfigs.${provider.api.type.group}`)
      .sort(),
  );
});
