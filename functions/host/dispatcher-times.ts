import { CALL_GRACE_MS } from '../../shared/tuning.ts';
import { COLD_START_LIMIT_MS } from '../tuning.ts';
import type { LeaseTimes } from './lease.ts';

/**
 * Pure: the lease of a dispatcher. It is renewed like any other, and lasts longer than whatever was begun may go on
 * without it: a dispatcher that is killed can leave a request on its way to a function that is just starting, which then
 * runs as long as it may.
 * @param coldStartMs how long a request may wait until the function has started
 */
export function dispatcherTimes(runLimitMs: number, times: LeaseTimes, coldStartMs = COLD_START_LIMIT_MS): LeaseTimes {
  return { ...times, leaseMs: coldStartMs + runLimitMs + CALL_GRACE_MS + times.marginMs };
}
