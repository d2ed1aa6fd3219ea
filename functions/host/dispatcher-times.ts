import { CALL_GRACE_MS } from '../../shared/tuning.ts';
import { COLD_START_LIMIT_MS } from '../tuning.ts';
import type { LeaseTimes } from './lease.ts';

/**
 * Pure: the lease of a dispatcher. It is renewed like any other, and lasts longer than whatever was begun may go on
 * without it: a dispatcher that is killed can leave a request on its way to a function that is just starting, which then
 * runs as long as it may.
 */
export function dispatcherTimes(runLimitMs: number, times: LeaseTimes): LeaseTimes {
  return { ...times, leaseMs: COLD_START_LIMIT_MS + runLimitMs + CALL_GRACE_MS + times.marginMs };
}
