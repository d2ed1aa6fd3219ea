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
   * `mayRunMs`: what was begun may still go on for so long, out of our reach; the object stays held until then.
   * `notBeforeMs`: a server wants to be left alone for so long.
   */
  | {
      readonly kind: 'failed';
      readonly message: string;
      readonly permanent: boolean;
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
/** Retryable, and what was begun may still go on for so long. */
export const lost = (message: string, mayRunMs: number): Outcome => ({
  kind: 'failed',
  message,
  permanent: false,
  mayRunMs,
});
