import { expect, test } from 'vitest';
import { tenantClient } from '../../../../functions/provider-call/tenant-client.ts';
import type { KubeClient } from '../../../../shared/kube/ports.ts';
import { CONFIG_MAPS, EVENTS } from '../../../../shared/kube/resources.ts';
import type { KubeObject } from '../../../../shared/model/kubernetes.ts';
import { provider } from '../objects.ts';
import { Home, runWith } from '../step/home.ts';

const LEAK = 'connect ECONNREFUSED 10.0.0.1:6443 with known-secret as system:serviceaccount:a:b';
const SHOWN = 'connect ECONNREFUSED [address] with [redacted] as [account]';
const metadata = { name: 'x', namespace: 'n', annotations: { at: '10.0.0.1:6443' } };

function client() {
  const writes: unknown[] = [];
  const record = (...given: unknown[]) => {
    writes.push(given);
    return Promise.resolve({});
  };
  const inner = { server: 'https://a', create: record, apply: record, mergePatch: record, get: record };
  return { writes, facing: tenantClient(inner as unknown as KubeClient, runWith(new Home())) };
}

test.each([EVENTS, { ...EVENTS, group: 'events.k8s.io', version: 'v1' }])('Events of group "$group"', async (type) => {
  const { writes, facing } = client();
  const event = { metadata, message: LEAK, note: LEAK, count: 2 } as KubeObject;
  await facing.create(type, event);
  await facing.apply(type, event);
  await facing.mergePatch(type, 'x', { message: LEAK });
  const shown = { metadata, message: SHOWN, note: SHOWN, count: 2 };
  expect(writes).toEqual([
    [type, shown],
    [type, shown, undefined],
    [type, 'x', { message: SHOWN }, undefined],
  ]);
});

test('the status of the object', async () => {
  const { writes, facing } = client();
  const { type } = provider.api;
  const options = { namespace: 'n', subresource: 'status' } as const;
  await facing.mergePatch(type, 'x', { metadata: { resourceVersion: '1' }, status: { a: { b: [LEAK] } } }, options);
  expect(writes).toEqual([[type, 'x', { metadata: { resourceVersion: '1' }, status: { a: { b: [SHOWN] } } }, options]]);
});

test('nothing else: what is installed holds what it has to', async () => {
  const { writes, facing } = client();
  const object = { metadata, data: { kubeconfig: LEAK } } as KubeObject;
  await facing.apply(CONFIG_MAPS, object);
  await facing.mergePatch(provider.api.type, 'x', { spec: { a: LEAK } });
  await facing.get(CONFIG_MAPS, 'x', 'n');
  expect(facing.server).toBe('https://a');
  expect(writes).toEqual([
    [CONFIG_MAPS, object, undefined],
    [provider.api.type, 'x', { spec: { a: LEAK } }, undefined],
    [CONFIG_MAPS, 'x', 'n'],
  ]);
});
