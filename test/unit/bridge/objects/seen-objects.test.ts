import { expect, test } from 'vitest';
import { keyOfSeen, seenObject } from '../../../../bridge/objects/seen-objects.ts';

const metadata = { name: 'foo', namespace: 'default', uid: 'u1', generation: 3, resourceVersion: '77' };

test('an object of the onboarding cluster gets the key of standard mode', () => {
  const seen = seenObject('standard', { metadata });
  expect(seen && keyOfSeen('p', 'standard', seen)).toEqual({
    provider: 'p',
    mode: 'standard',
    cluster: 'onboarding',
    namespace: 'default',
    name: 'foo',
    uid: 'u1',
  });
});

test("an object of a kcp workspace gets its logical cluster from kcp's annotation", () => {
  const seen = seenObject('kcp', { metadata: { ...metadata, annotations: { 'kcp.io/cluster': '2abc' } } });
  expect(seen && keyOfSeen('p', 'kcp', seen).cluster).toBe('2abc');
});

test('an object of kcp without a logical cluster is left out', () => {
  expect(seenObject('kcp', { metadata })).toBeUndefined();
});

test('nothing but identity, versions, age, deletion and the operation annotation is kept', () => {
  const seen = seenObject('standard', {
    metadata: {
      ...metadata,
      deletionTimestamp: '2026-01-01T00:00:00Z',
      annotations: { 'openmcp.cloud/operation': 'reconcile', other: 'x' },
      labels: { a: 'b' },
      finalizers: ['f'],
    },
  });
  expect(seen).toEqual({
    group: 'onboarding',
    id: 'default/foo',
    uid: 'u1',
    generation: 3,
    resourceVersion: '77',
    createdAt: '',
    deleting: true,
    hasFinalizer: false,
    operation: 'reconcile',
  });
});
