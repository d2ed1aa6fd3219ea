import type { PermanentFailure } from '../../shared/queue/delivery-state.ts';
import { type ResultOf, resultOf } from '../../shared/events/outcome.ts';
import { formatObjectKey } from '../../shared/model/object-key.ts';
import type { Notice } from '../send/to-events.ts';

/** For how long a permanent failure spares its object the regular look. */
export interface Sparing {
  /** One that is older counts no more: what led to it may have changed where nobody sees that. */
  readonly limitMs: number;
  /** One from before the bridge has run for so long counts no more: it may be an earlier version's. */
  readonly sinceMs: number;
}

/**
 * Pure: the regular look at all objects, but those whose last invocation failed for good while object and ProviderConfig
 * were as they are now. Whatever else changes has an event of its own.
 */
export function* worthALook(
  notices: Iterable<Notice>,
  failures: ReadonlyMap<string, PermanentFailure>,
  config: ResultOf['config'],
  { limitMs, sinceMs }: Sparing,
): Generator<Notice> {
  for (const notice of notices) {
    const failure = failures.get(formatObjectKey(notice.key));
    const same = failure?.of === resultOf({ object: notice.generation, config });
    if (!failure || !same || failure.ageMs > limitMs || failure.ageMs > sinceMs) yield notice;
  }
}
