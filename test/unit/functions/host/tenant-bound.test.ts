import { expect, test } from 'vitest';
import { TenantBound } from '../../../../functions/host/tenant-bound.ts';
import { kcpKey, standardKey } from '../objects.ts';

const other = { ...standardKey, namespace: 'project-b' };
const take = (bound: TenantBound, key = standardKey, times = 1) =>
  Array.from({ length: times }, () => bound.enter(key));

test('quick invocations may take every place', () => {
  const bound = new TenantBound(5);
  bound.enter(standardKey)?.(20);
  expect(take(bound, standardKey, 5)).not.toContain(undefined);
});

test('slow ones leave a place to others, and get it back when they are quick again', () => {
  const bound = new TenantBound(5);
  bound.enter(standardKey)?.(30_000);
  const taken = take(bound, standardKey, 5);
  expect(taken.filter((each) => each === undefined)).toHaveLength(1);
  expect(bound.enter(other)).toBeDefined();
  for (const end of taken) end?.(10);
  for (let again = 0; again < 20; again++) bound.enter(standardKey)?.(10);
  expect(take(bound, standardKey, 5)).not.toContain(undefined);
});

test('who is not known yet is taken for what the others are', () => {
  const bound = new TenantBound(2);
  bound.enter(standardKey)?.(30_000);
  expect(take(bound, kcpKey, 2).filter((each) => each === undefined)).toHaveLength(1);
});

test('a process with one place serves everybody in turn', () => {
  const bound = new TenantBound(1);
  bound.enter(standardKey)?.(30_000);
  expect(bound.enter(standardKey)).toBeDefined();
});

test('only one place is left free, however many tenants are slow', () => {
  const bound = new TenantBound(3);
  bound.enter(standardKey)?.(30_000);
  bound.enter(other)?.(30_000);
  expect(take(bound, standardKey, 3).filter(Boolean)).toHaveLength(2);
  expect(take(bound, other, 3).filter(Boolean)).toHaveLength(2);
});
