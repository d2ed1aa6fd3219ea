import { expect, test } from 'vitest';
import { servingBinding } from '../../../../shared/kcp/decide-binding.ts';
import { endpointUrls, isSliceOf } from '../../../../shared/kcp/endpoint-slice.ts';
import { LOGICAL_CLUSTER_ANNOTATION } from '../../../../shared/names.ts';

const binding = (name: string, phase?: string, deleting = false) => ({
  metadata: { name, ...(deleting ? { deletionTimestamp: '2026-01-01T00:00:00Z' } : {}) },
  status: phase === undefined ? {} : { phase },
});
const chosen = (...bindings: ReturnType<typeof binding>[]) => servingBinding(bindings)?.metadata.name;

test('the binding that serves is the one that is bound, whichever comes first', () => {
  expect(chosen()).toBeUndefined();
  expect(chosen(binding('a', 'Binding'), binding('b', 'Bound'))).toBe('b');
  expect(chosen(binding('a', 'Binding'), binding('b', 'Bound', true))).toBe('b');
  expect(chosen(binding('a', 'Bound', true), binding('b', 'Bound'))).toBe('b');
  expect(chosen(binding('a', 'Binding'))).toBe('a');
  // Asked for without its status.
  expect(chosen(binding('a', undefined, true), binding('b'))).toBe('b');
});

test('slices are those of the export, by whatever name', () => {
  const of = { exportName: 'foo', workspacePath: 'root:services' };
  const slice = (spec: { name: string; path?: string }) => ({
    metadata: { name: 'any', annotations: { [LOGICAL_CLUSTER_ANNOTATION]: 'abc' } },
    spec: { export: spec },
  });
  expect(isSliceOf(slice({ name: 'foo' }), of)).toBe(true);
  expect(isSliceOf(slice({ name: 'foo', path: 'root:services' }), of)).toBe(true);
  expect(isSliceOf(slice({ name: 'foo', path: 'abc' }), of)).toBe(true);
  expect(isSliceOf(slice({ name: 'foo', path: 'root:others' }), of)).toBe(false);
  expect(isSliceOf(slice({ name: 'bar' }), of)).toBe(false);
  expect(isSliceOf({ metadata: { name: 'foo' } }, of)).toBe(false);
});

test('an address that two slices have is one', () => {
  const at = (...urls: string[]) => ({ metadata: { name: 'x' }, status: { endpoints: urls.map((url) => ({ url })) } });
  expect(endpointUrls([at('https://b/', 'https://a'), at('https://b')])).toEqual(['https://a', 'https://b']);
});
