import { OBJECT_CHANGED } from '../../shared/events/catalogue.ts';
import type { Outcome } from '../../shared/events/outcome.ts';
import type { Settlement } from '../../shared/queue/delivery-state.ts';
import { AGAIN_LEAST_MS, BACKOFF_FIRST_MS, BACKOFF_LIMIT_MS, SAFETY_TIMER_MS } from '../../shared/tuning.ts';
import { FREE_RETURNS } from '../tuning.ts';

/** Spreads what would otherwise come at once: 80 % to 120 %. */
function jittered(ms: number, random: number): number {
  return ms * (0.8 + 0.4 * random);
}

/** 1 s, 2 s, 4 s … 5 min, with jitter. @param attempts failures in a row before this one */
export function backoffMs(attempts: number, random: number): number {
  return jittered(Math.min(BACKOFF_FIRST_MS * 2 ** Math.min(attempts, 30), BACKOFF_LIMIT_MS), random);
}

/** A step found that it is not its turn: the object is looked at from the start. */
export const startsOver = (outcome: Outcome): boolean =>
  outcome.kind === 'done' && outcome.next.includes(OBJECT_CHANGED);

/**
 * What an outcome does to the object's timer and count of failures.
 * @param attempts failures, and returns to the start, in a row before this outcome
 * @param random a number from 0 to 1
 */
export function settlementOf(outcome: Outcome, attempts: number, random: number): Settlement {
  switch (outcome.kind) {
    case 'done':
      // A race ends after one or two of them. What does not (a webhook that undoes what a step writes, two versions that
      // see a thing differently) would go round as fast as it can.
      if (startsOver(outcome)) {
        const timer = attempts < FREE_RETURNS ? 'keep' : { afterMs: backoffMs(attempts - FREE_RETURNS, random) };
        return { timer, attempts: 'count', permanent: 'keep' };
      }
      // With a next event the pass goes on: a timer that another function has set stays, and so does the count, since
      // the failing step may be the next one.
      return outcome.next.length > 0
        ? { timer: 'keep', attempts: 'keep', permanent: 'keep' }
        : { timer: 'clear', attempts: 'clear' };
    case 'again':
      return { timer: { afterMs: Math.max(AGAIN_LEAST_MS, outcome.afterMs) }, attempts: 'clear' };
    case 'waiting':
      return { timer: { afterMs: jittered(SAFETY_TIMER_MS, random) }, attempts: 'clear' };
    case 'failed': {
      if (outcome.permanent) {
        const of = outcome.of === undefined ? {} : { permanent: { of: outcome.of } };
        return { timer: 'clear', attempts: 'clear', ...of };
      }
      const { mayRunMs: heldMs = 0, notBeforeMs = 0 } = outcome;
      const afterMs = Math.max(heldMs, notBeforeMs, backoffMs(attempts, random));
      return { timer: { afterMs }, attempts: 'count', ...(heldMs > 0 ? { heldMs } : {}) };
    }
  }
}
