import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { foo } from '../../functions/providers/foo/provider.ts';
import type { HttpKubeClient } from '../../shared/kube/client.ts';
import { ACCESS_REQUESTS, CLUSTER_REQUESTS, NAMESPACES } from '../../shared/kube/resources.ts';
import type { KubeObject, ServiceObject } from '../../shared/model/kubernetes.ts';
import { formatObjectKey, type ObjectKey } from '../../shared/model/object-key.ts';
import { mcpNamespace, OBJECT_ANNOTATION } from '../../shared/names.ts';
import { DeliveryState } from '../../shared/queue/delivery-state.ts';
import { connectKcp } from '../control-planes/kcp.ts';
import { eventually } from '../support/wait.ts';
import {
  becomesReady,
  createFoo,
  NAMESPACE,
  type Receiver,
  type Rig,
  runBridge,
  type RunningBridge,
  startRig,
  workspacesBelow,
} from './bridge-harness.ts';

const FOOS = foo.api.type;
const CONFIGS = foo.config.type;

let platform: HttpKubeClient;
let onboarding: HttpKubeClient;
let rig: Rig;
let receiver: Receiver;
let running: RunningBridge;

beforeAll(async () => {
  const create = await workspacesBelow(connectKcp(inject('kcpKubeconfig')), 'bridge');
  const workspaces = await Promise.all([create('platform'), create('onboarding')]);
  [platform, onboarding] = workspaces.map(({ client }) => client) as [HttpKubeClient, HttpKubeClient];
  rig = await startRig(join(inject('runFolder'), 'bridge'), { platform, onboarding });
  ({ receiver, running } = rig);
}, 120_000);

afterAll(() => rig?.stop());

async function orderFoo(name: string, metadata: object = {}): Promise<{ object: ServiceObject; key: ObjectKey }> {
  const object = await createFoo(onboarding, name, metadata);
  const uid = object.metadata.uid as string;
  const key = { provider: 'foo', mode: 'standard', cluster: 'onboarding', namespace: NAMESPACE, name, uid } as const;
  return { object, key };
}

const patchFoo = (name: string, patch: object, subresource?: 'status'): Promise<ServiceObject> =>
  onboarding.mergePatch<ServiceObject>(FOOS, name, patch, {
    namespace: NAMESPACE,
    ...(subresource ? { subresource } : {}),
  });

describe('Service API objects on the onboarding cluster', () => {
  test('are told when they are created, changed and deleted, and not when only their status or finalizers change', async () => {
    const { object } = await orderFoo('life', { finalizers: ['example.org/test'] });
    const added = await receiver.next('life', 'Added');
    expect(added.key).toMatchObject({ mode: 'standard', cluster: 'onboarding', uid: object.metadata.uid });
    await patchFoo('life', { status: { phase: 'Ready', observedGeneration: 1, conditions: [] } }, 'status');
    await patchFoo('life', { metadata: { finalizers: ['example.org/test', 'example.org/other'] } });
    await patchFoo('life', { spec: { foo: '2' } });
    const changed = await receiver.next('life', 'Changed');
    expect(changed.generation).toBe(2);
    await onboarding.delete(FOOS, 'life', { namespace: NAMESPACE });
    await receiver.next('life', 'Deleting');
    await patchFoo('life', { metadata: { finalizers: null } });
    await eventually('its deletion was seen', () => running.logged('skipped', 'ObjectGone'));
    expect(receiver.of('life')).toEqual(['Added', 'Changed', 'Deleting']);
  });

  test('are told under their new uid when they are deleted and created again', async () => {
    const { key: first } = await orderFoo('again');
    await receiver.next('again', 'Added');
    await onboarding.delete(FOOS, 'again', { namespace: NAMESPACE });
    const { key: second } = await orderFoo('again');
    await eventually('the second is told', () => receiver.events.some(({ key }) => key.uid === second.uid));
    expect(second.uid).not.toBe(first.uid);
  });
});

describe('what an object waits for on the platform cluster', () => {
  test('wakes it: its AccessRequest when answered and gone, not when made', async () => {
    const { key } = await orderFoo('access');
    await receiver.next('access', 'Added');
    const namespace = mcpNamespace('access', NAMESPACE);
    await platform.create(NAMESPACES, { metadata: { name: namespace } });
    const options = { namespace };
    const metadata = {
      name: 'foo--access--mcp',
      namespace,
      annotations: { [OBJECT_ANNOTATION]: formatObjectKey(key) },
    };
    const spec = { requestRef: { name: 'access', namespace }, token: { permissions: [] } };
    await platform.create(ACCESS_REQUESTS, { metadata, spec } as KubeObject);
    await eventually('its creation was skipped', () =>
      running.logged('skipped', 'RequestCreated', ({ request }) => String(request).includes('access')),
    );
    expect(receiver.of('access')).toEqual(['Added']);

    const status = { observedGeneration: 1, phase: 'Granted', secretRef: { name: 's' } };
    await platform.mergePatch(ACCESS_REQUESTS, metadata.name, { status }, { ...options, subresource: 'status' });
    await receiver.next('access', 'AccessChanged');
    const since = receiver.events.length;
    await platform.delete(ACCESS_REQUESTS, metadata.name, options);
    await receiver.next('access', 'AccessChanged', since);
  });

  test("wakes it: its control plane's ClusterRequest, which carries nothing of ours", async () => {
    await orderFoo('plane');
    await receiver.next('plane', 'Added');
    const namespace = mcpNamespace('plane', NAMESPACE);
    await platform.create(NAMESPACES, { metadata: { name: namespace } });
    await platform.create(CLUSTER_REQUESTS, {
      metadata: { name: 'plane', namespace },
      spec: { purpose: 'mcp' },
    } as KubeObject);
    expect((await receiver.next('plane', 'AccessChanged')).key).toMatchObject({ namespace: NAMESPACE, name: 'plane' });
  });

  test('wakes nobody when it belongs to another provider', async () => {
    const { key } = await orderFoo('foreign');
    await receiver.next('foreign', 'Added');
    const annotations = { [OBJECT_ANNOTATION]: formatObjectKey({ ...key, provider: 'bar' }) };
    const metadata = { name: 'bar--foreign--wl', namespace: NAMESPACE, annotations };
    await platform.create(CLUSTER_REQUESTS, { metadata, spec: { purpose: 'workload' } } as KubeObject);
    await platform.delete(CLUSTER_REQUESTS, metadata.name, { namespace: NAMESPACE });
    await patchFoo('foreign', { spec: { foo: '2' } });
    await receiver.next('foreign', 'Changed');
    expect(receiver.of('foreign')).toEqual(['Added', 'Changed']);
  });

  test('is the ProviderConfig for all objects: when it appears, changes and is gone, not when its labels change', async () => {
    await orderFoo('configured');
    await receiver.next('configured', 'Added');
    const apply = (pollInterval: string) =>
      platform.apply(CONFIGS, { metadata: { name: 'foo' }, spec: { pollInterval } } as KubeObject);
    for (const step of [
      () => apply('1m'),
      () => apply('2m'),
      () => platform.delete(CONFIGS, 'foo'),
      () => apply('1m'),
    ]) {
      const since = receiver.events.length;
      await step();
      await receiver.next('configured', 'ProviderConfigChanged', since);
    }
    await platform.mergePatch(CONFIGS, 'foo', { metadata: { labels: { a: 'b' } } });
    await eventually('it was skipped', () => running.logged('skipped', 'ConfigUnchanged'));
    expect(receiver.of('configured')).toEqual(['Added', ...Array<string>(4).fill('ProviderConfigChanged')]);
  });
});

describe('duties', () => {
  test('a timer that is due becomes an event, once', async () => {
    const { key } = await orderFoo('timer');
    await receiver.next('timer', 'Added');
    await running.state.handBack(key, 100);
    await receiver.next('timer', 'Timer');
    await sleep(600);
    expect(receiver.of('timer')).toEqual(['Added', 'Timer']);
  });

  test('an object that was parked while somebody held it is told when it is free again', async () => {
    const { key } = await orderFoo('parked');
    await receiver.next('parked', 'Added');
    const token = DeliveryState.token();
    await eventually('the lease is granted', () => running.state.acquire(key, token, 30_000));
    expect(await running.state.acquire(key, DeliveryState.token(), 30_000)).toBe(false);
    await sleep(1_500);
    expect(receiver.of('parked')).not.toContain('Parked');
    await running.state.settle(key, token, { timer: 'keep', attempts: 'keep' });
    await receiver.next('parked', 'Parked');
    await sleep(1_500);
    expect(receiver.of('parked').filter((reason) => reason === 'Parked')).toHaveLength(1);
  });

  test('when Redis was wiped every object is told again', async () => {
    await orderFoo('wiped');
    await receiver.next('wiped', 'Added');
    const since = receiver.events.length;
    await running.redis.flushall();
    await receiver.next('wiped', 'EpochChanged', since);
    await receiver.next('timer', 'EpochChanged', since);
    expect((await running.state.readEpoch()).sameServer).toBe(true);
  });

  test('two bridges do not replace each other’s epochs, and each tells everything', async () => {
    await orderFoo('twice');
    const other = await runBridge(rig.redis, { platform, onboarding });
    try {
      await becomesReady(other);
      await running.redis.flushall();
      const epoch = await eventually('an epoch', async () => (await running.state.readEpoch()).id || undefined);
      await sleep(1_000);
      const settled = (await running.state.readEpoch()).id;
      await sleep(1_000);
      expect((await running.state.readEpoch()).id).toBe(settled);
      expect(epoch).not.toBe('');
    } finally {
      await other.stop();
    }
  });
});

test('while Redis is away changes are remembered, one for an object, and the bridge says that it is not ready', async () => {
  const names = Array.from({ length: 10 }, (_, index) => `away-${index}`);
  for (const name of names) await orderFoo(name);
  await Promise.all(names.map((name) => receiver.next(name, 'Added')));
  await rig.redis.kill();
  for (let change = 0; change < 5; change++)
    await Promise.all(names.map((name) => patchFoo(name, { spec: { foo: `away-${change}` } })));
  const problems = await eventually('not ready', () => running.bridge.ready()[0]);
  expect(problems).toMatch(/queue: Redis is not connected \(\d+ objects wait\)/);
  const since = receiver.events.length;
  await rig.redis.restartEmpty();
  await becomesReady(running);
  for (const name of names) await receiver.next(name, 'Changed', since);
  // The new server is empty: what settled before is told as well.
  await receiver.next('timer', 'EpochChanged', since);
});
