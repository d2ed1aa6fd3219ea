import { describe, expect, test } from 'vitest';
import { backoffMs, settlementOf } from '../../../../functions/host/settle.ts';
import { INSTALL_REQUESTED, OBJECT_CHANGED } from '../../../../shared/events/catalogue.ts';
import { again, done, failed, failedForGood, type Outcome, waiting } from '../../../../shared/events/outcome.ts';
import type { Settlement } from '../../../../shared/queue/delivery-state.ts';

const MIDDLE = 0.5;

describe('what an outcome does to the timer and the count of failures', () => {
  test.each<[string, Outcome, Settlement]>([
    ['a pass that is through clears both', done(), { timer: 'clear', attempts: 'clear' }],
    ['a pass that goes on keeps all', done(INSTALL_REQUESTED), { timer: 'keep', attempts: 'keep', permanent: 'keep' }],
    ['again: exactly then, without jitter', again(1_234, 'x'), { timer: { afterMs: 1_234 }, attempts: 'clear' }],
    ['again, at once: a second is the least', again(0, 'x'), { timer: { afterMs: 1_000 }, attempts: 'clear' }],
    ['again, in a part of a second: likewise', again(0.4, 'x'), { timer: { afterMs: 1_000 }, attempts: 'clear' }],
    ['waiting: a safety timer', waiting('x'), { timer: { afterMs: 120_000 }, attempts: 'clear' }],
    ['a failure: backoff, and it is counted', failed('x'), { timer: { afterMs: 8_000 }, attempts: 'count' }],
    [
      'a server that wants to be left alone for longer',
      failed('x', false, 60_000),
      { timer: { afterMs: 60_000 }, attempts: 'count' },
    ],
    [
      'a permanent failure, and what it was about',
      failedForGood('x', '3/1'),
      { timer: 'clear', attempts: 'clear', permanent: { of: '3/1' } },
    ],
    ['a permanent failure: nothing before something changes', failed('x', true), { timer: 'clear', attempts: 'clear' }],
  ])('%s', (_what, outcome, settlement) => {
    expect(settlementOf(outcome, 3, MIDDLE)).toEqual(settlement);
  });

  test('a pass that starts over does so at once a few times in a row, and then after a pause that grows', () => {
    const timers = Array.from({ length: 6 }, (_, attempts) => settlementOf(done(OBJECT_CHANGED), attempts, MIDDLE));
    expect(timers.map(({ timer }) => timer)).toEqual([
      'keep',
      'keep',
      'keep',
      ...[1_000, 2_000, 4_000].map((afterMs) => ({ afterMs })),
    ]);
    expect(new Set(timers.map(({ attempts }) => attempts))).toEqual(new Set(['count']));
  });

  test('the safety timer stays within one to five minutes', () => {
    for (const random of [0, 0.999]) {
      const { timer } = settlementOf(waiting('x'), 0, random) as { timer: { afterMs: number } };
      expect(timer.afterMs).toBeGreaterThanOrEqual(60_000);
      expect(timer.afterMs).toBeLessThanOrEqual(300_000);
    }
  });
});

describe('backoff', () => {
  test('doubles from a second to five minutes', () => {
    expect(Array.from({ length: 11 }, (_, attempts) => backoffMs(attempts, MIDDLE))).toEqual([
      1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 64_000, 128_000, 256_000, 300_000, 300_000,
    ]);
  });

  test('ends nowhere, however often it was tried', () => {
    expect(backoffMs(1_000_000, MIDDLE)).toBe(300_000);
  });

  test('is spread by a fifth to both sides', () => {
    expect(backoffMs(0, 0)).toBe(800);
    expect(backoffMs(0, 0.75)).toBeCloseTo(1_100);
    expect(backoffMs(0, 1)).toBeCloseTo(1_200);
  });
});
