import { expect, test } from 'vitest';
import { displayKey, formatObjectKey, parseObjectKey } from '../../../../shared/model/object-key.ts';
import { kcpKey, standardKey } from '../../functions/objects.ts';

test.each([standardKey, kcpKey, { ...kcpKey, cluster: 'root:org:team' }])('%o survives as text', (key) => {
  expect(parseObjectKey(formatObjectKey(key))).toEqual(key);
});

test('keys that differ in one field differ as text', () => {
  const others = [
    { provider: 'x' },
    { mode: 'kcp' as const },
    { cluster: 'x' },
    { namespace: 'x' },
    { name: 'x' },
    { uid: 'x' },
  ].map((other) => formatObjectKey({ ...standardKey, ...other }));
  expect(new Set([...others, formatObjectKey(standardKey)]).size).toBe(7);
});

test.each([
  '',
  'db|standard|onboarding|project-a|shop',
  'db|standard|onboarding|project-a|shop|',
  'db|standard|onboarding|project-a|shop|uid|more',
  'db|other|onboarding|project-a|shop|uid',
  '|standard|onboarding|project-a|shop|uid',
  'db|standard||project-a|shop|uid',
  'db|standard|onboarding|project-a||uid',
  'winner|kcp|2hj3kx',
])('%j is no key', (text) => {
  expect(parseObjectKey(text)).toBeUndefined();
});

test('people see where an object is', () => {
  expect(displayKey(standardKey)).toBe('standard/onboarding/project-a/shop');
});
