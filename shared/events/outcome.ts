import type { EventType } from './catalogue.ts';

/** What a function says at the end of one invocation; the delivery loop acts on it (see `functions/host/settle.ts`). */
export type Outcome =
  /** The step is done; `next` are the events of the same object that go on from here, none when the flow ends. */
  | { readonly kind: 'done'; readonly next: readonly EventType[] }
  /** Look at the object again after `afterMs`, even if nothing changes. */
  | { readonly kind: 'again'; readonly afterMs: number; readonly reason: string }
  /** Something else has to happen first; its change wakes the object, a safety timer does if that is missed. */
  | { readonly kind: 'waiting'; readonly for: string }
  /**
   * Retryable: backoff, for ever. Permanent: nothing before something changes. The message holds no credential.
   * `of`: what a permanent failure was about, by {@link resultOf}; without it, nobody knows whether that has changed.
   * `mayRunMs`: what was begun may still go on for so long, out of our reach; the object stays held until then.
   * `notBeforeMs`: a server wants to be left alone for so long.
   */
  | {
      readonly kind: 'failed';
      readonly message: string;
      readonly permanent: boolean;
      readonly of?: string;
      readonly mayRunMs?: number;
      readonly notBeforeMs?: number | undefined;
    };

export const done = (...next: EventType[]): Outcome => ({ kind: 'done', next });
export const again = (afterMs: number, reason: string): Outcome => ({ kind: 'again', afterMs, reason });
export const waiting = (what: string): Outcome => ({ kind: 'waiting', for: what });
export const failed = (message: string, permanent = false, notBeforeMs?: number): Outcome => ({
  kind: 'failed',
  message,
  permanent,
  ...(notBeforeMs === undefined ? {} : { notBeforeMs }),
});
/** Permanent, about the object and ProviderConfig as they were. */
export const failedForGood = (message: string, of: string): Outcome => ({ ...failed(message, true), of }) as Outcome;
/** Retryable, and what was begun may still go on for so long. */
export const lost = (message: string, mayRunMs: number): Outcome => ({
  kind: 'failed',
  message,
  permanent: false,
  mayRunMs,
});

/** Generations of what an outcome is about; that of the ProviderConfig is undefined without one. */
export interface ResultOf {
  readonly object: number | undefined;
  readonly config: number | undefined;
}

/** Pure: the same text for the same state. */
export function resultOf({ object, config }: ResultOf): string {
  return `${object ?? ''}/${config ?? ''}`;
}
