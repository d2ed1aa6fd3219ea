import { join } from 'node:path';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { foo } from '../../functions/providers/foo/provider.ts';
import { resultOf } from '../../shared/events/outcome.ts';
import type { HttpKubeClient } from '../../shared/kube/client.ts';
import type { KubeObject, ServiceObject } from '../../shared/model/kubernetes.ts';
import { DeliveryState } from '../../shared/queue/delivery-state.ts';
import { connectKcp } from '../control-planes/kcp.ts';
import { eventually } from '../support/wait.ts';
import { createFoo, NAMESPACE, type Receiver, type Rig, startRig, workspacesBelow } from './bridge-harness.ts';

let platform: HttpKubeClient;
let rig: Rig;
let receiver: Receiver;
let config: KubeObject;

beforeAll(async () => {
  const create = await workspacesBelow(connectKcp(inject('kcpKubeconfig')), 'resync');
  ({ client: platform } = await create('home'));
  const dir = join(inject('runFolder'), 'resync');
  rig = await startRig(dir, { platform, onboarding: platform }, { resyncMs: 1_000 });
  ({ receiver } = rig);
  config = await platform.apply(foo.config.type, { metadata: { name: foo.name }, spec: {} } as KubeObject);
}, 120_000);

afterAll(() => rig?.stop());

const resyncs = (name: string): number => receiver.of(name).filter((reason) => reason === 'Resync').length;

/** As an invocation does. */
async function failForGood({ metadata }: ServiceObject): Promise<void> {
  const { state } = rig.running;
  const { name, uid = '', generation } = metadata;
  const key = { provider: foo.name, mode: 'standard', cluster: 'onboarding', namespace: NAMESPACE, name, uid } as const;
  const token = DeliveryState.token();
  await eventually('the object is free', () => state.acquire(key, token, 5_000));
  const of = resultOf({ object: generation, config: config.metadata.generation });
  await state.settle(key, token, { timer: 'clear', attempts: 'clear', permanent: { of } });
}

/** Several regular looks, each with everything that is worth one. */
const looks = async (count = 3): Promise<void> => {
  const before = resyncs('fine');
  await eventually(`${count} regular looks`, () => resyncs('fine') >= before + count);
};

test('what failed for good gets no regular look until it is changed, or the ProviderConfig is', async () => {
  await createFoo(platform, 'fine');
  const failing = await createFoo(platform, 'failing');
  await looks();
  expect(resyncs('failing')).toBeGreaterThan(0);

  await failForGood(failing);
  await looks(1);
  const spared = resyncs('failing');
  await looks();
  expect(resyncs('failing')).toBe(spared);

  const since = receiver.events.length;
  const changed = await platform.mergePatch<ServiceObject>(
    foo.api.type,
    'failing',
    { spec: { foo: '2' } },
    { namespace: NAMESPACE },
  );
  await receiver.next('failing', 'Changed', since);
  await receiver.next('failing', 'Resync', since);

  await failForGood(changed);
  await looks(1);
  config = await platform.mergePatch(foo.config.type, foo.name, { spec: { pollInterval: '5m' } });
  const afterwards = receiver.events.length;
  await receiver.next('failing', 'Resync', afterwards);
});
