import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Deadline } from '../../../../functions/host/deadline.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function deadline(inMs: number) {
  const passed = vi.fn();
  return { made: new Deadline(performance.now() + inMs, passed), passed };
}

test('it passes when its time has come, and says so once', () => {
  const { made, passed } = deadline(1_000);
  vi.advanceTimersByTime(990);
  expect([made.passed, made.signal.aborted]).toEqual([false, false]);
  vi.advanceTimersByTime(20);
  expect([made.passed, made.signal.aborted]).toEqual([true, true]);
  vi.advanceTimersByTime(5_000);
  expect(passed).toHaveBeenCalledTimes(1);
});

test('it can be put off until then, and not afterwards', () => {
  const { made, passed } = deadline(1_000);
  vi.advanceTimersByTime(900);
  made.putOff(performance.now() + 1_000);
  vi.advanceTimersByTime(900);
  expect(made.passed).toBe(false);
  vi.advanceTimersByTime(200);
  made.putOff(performance.now() + 1_000);
  expect(made.passed).toBe(true);
  expect(passed).toHaveBeenCalledTimes(1);
});

test('ended before its time it is over, and nobody is told that it passed', () => {
  const { made, passed } = deadline(1_000);
  made.end();
  expect([made.passed, made.signal.aborted]).toEqual([true, true]);
  vi.advanceTimersByTime(5_000);
  expect(passed).not.toHaveBeenCalled();
});
