import { expect, test } from 'vitest';
import { Backoff } from '../../../../bridge/watch/backoff.ts';

test('delays double up to the limit and begin anew after a success', () => {
  const backoff = new Backoff(500, 30_000, () => 1);
  expect(Array.from({ length: 8 }, () => backoff.next())).toEqual([
    500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000,
  ]);
  backoff.reset();
  expect(backoff.next()).toBe(500);
});

test('chance shortens a delay to no less than half', () => {
  const backoff = new Backoff(1_000, 30_000, () => 0);
  expect(backoff.next()).toBe(500);
});

test('a delay stays finite after very many failures', () => {
  const backoff = new Backoff(500, 30_000, () => 1);
  for (let failure = 0; failure < 5_000; failure++) backoff.next();
  expect(backoff.next()).toBe(30_000);
});
