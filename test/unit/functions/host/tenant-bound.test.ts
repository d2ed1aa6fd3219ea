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

test('slow ones leave a place to others', () => {
  const bound = new TenantBound(5);
  bound.enter(standardKey)?.(30_000);
  const taken = take(bound, standardKey, 5);
  expect(taken.filter((each) => each === undefined)).toHaveLength(1);
  expect(bound.enter(other)).toBeDefined();
});

test('and get it back when they are quick again', () => {
  const bound = new TenantBound(5);
  bound.enter(standardKey)?.(30_000);
  for (let again = 0; again < 20; again++) bound.enter(standardKey)?.(10);
  expect(take(bound, standardKey, 5)).not.toContain(undefined);
});

test('who is not known yet is taken for what the others are', () => {
  const bound = new TenantBound(4);
  bound.enter(standardKey, 0)?.(30_000);
  const later = Array.from({ length: 4 }, () => bound.enter(kcpKey, 60_000));
  expect(later.filter(Boolean)).toHaveLength(3);
});

test('a process with one place serves everybody in turn', () => {
  const bound = new TenantBound(1);
  bound.enter(standardKey)?.(30_000);
  bound.enter(other)?.(10);
  expect(bound.enter(standardKey)).toBeDefined();
});

test('only one place is left free, however many tenants are slow', () => {
  const bound = new TenantBound(3);
  bound.enter(standardKey)?.(30_000);
  bound.enter(other)?.(30_000);
  expect(take(bound, standardKey, 3).filter(Boolean)).toHaveLength(2);
  expect(take(bound, other, 3).filter(Boolean)).toHaveLength(2);
});

test('while others have work nobody has more than half of the places, however quick', () => {
  const bound = new TenantBound(6);
  const end = bound.enter(other, 0);
  const taken = Array.from({ length: 6 }, () => bound.enter(standardKey, 60_000));
  expect(taken.filter(Boolean)).toHaveLength(3);
  end?.(10);
  expect(bound.enter(standardKey, 60_000)).toBeDefined();
});

test('and for a moment after their last', () => {
  const bound = new TenantBound(4);
  bound.enter(other, 0)?.(10);
  const at = (now: number) => Array.from({ length: 4 }, () => bound.enter(standardKey, now));
  expect(at(9_000).filter(Boolean)).toHaveLength(2);
  expect(at(11_000).filter(Boolean)).toHaveLength(2);
  expect(bound.enter(other, 11_000)).toBeDefined();
});
