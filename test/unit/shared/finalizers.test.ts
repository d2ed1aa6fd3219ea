import { expect, test } from 'vitest';
import { addFinalizerPatch, hasFinalizer, removeFinalizerPatch } from '../../../shared/finalizers.ts';
import { serviceObject } from '../functions/objects.ts';

const held = serviceObject([], { finalizers: ['other/one', 'ours/f', 'other/two'] });
const free = serviceObject([], { finalizers: ['other/one'] });
const { finalizers: _, ...bare } = serviceObject().metadata;

test('ours is found among others', () => {
  expect(hasFinalizer(held, 'ours/f')).toBe(true);
  expect(hasFinalizer(free, 'ours/f')).toBe(false);
  expect(hasFinalizer({ metadata: bare }, 'ours/f')).toBe(false);
});

test('a list that is written as a whole: others keep theirs, and another writer in between gives a conflict', () => {
  const guards = { resourceVersion: '7', uid: 'uid-1' };
  expect(addFinalizerPatch(free, 'ours/f')).toEqual({ metadata: { ...guards, finalizers: ['other/one', 'ours/f'] } });
  expect(removeFinalizerPatch(held, 'ours/f')).toEqual({
    metadata: { ...guards, finalizers: ['other/one', 'other/two'] },
  });
});

test('the first is added and the last removed', () => {
  expect(addFinalizerPatch({ metadata: bare }, 'ours/f')).toMatchObject({ metadata: { finalizers: ['ours/f'] } });
  expect(removeFinalizerPatch(serviceObject([], { finalizers: ['ours/f'] }), 'ours/f')).toMatchObject({
    metadata: { finalizers: [] },
  });
});
