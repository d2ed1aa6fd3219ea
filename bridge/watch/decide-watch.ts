import { SHORTEST_WATCH_MS, UNFINISHED_LISTS } from '../tuning.ts';
/** Pure: what a watch does after it ended. */

export type WatchEnd =
  /** By the server and in order, as it does from time to time. */
  | { readonly kind: 'closed' }
  /** Nothing came for longer than a server stays silent, or the initial events went on for longer than that. */
  | { readonly kind: 'silent' }
  /** By an answer, or by an `ERROR` event inside a 200. `status` is 0 where there was none: a connection was lost. */
  | {
      readonly kind: 'refused';
      readonly status: number;
      readonly message: string;
      /** The server wants to be left alone for so long. */
      readonly retryAfterMs?: number | undefined;
    };

export interface NextTry {
  /** Forget the position and list everything again; otherwise go on from where the watch was. */
  readonly relist: boolean;
  /** The server doesn't know `sendInitialEvents`, or says so and never ends them: list in pages and then watch. */
  readonly listInPages: boolean;
  /** Wait for the next backoff first. */
  readonly wait: boolean;
}

/**
 * 410: the position is too old. 404: the type isn't served; when it is again, it may lie in another storage. 500: kcp
 * ends watches so when the schema of the type moves, and answers so when the export is gone. Others (401, 403, 429, no
 * answer) say nothing about the position.
 */
const LOSES_POSITION: ReadonlySet<number> = new Set([404, 410, 500]);

/** @param watch `listing`: it ended before its initial events were all there; `unfinished`: how often in a row, with this */
export function nextTry(end: WatchEnd, watch: { livedMs: number; listing: boolean; unfinished: number }): NextTry {
  const neverWhole = watch.unfinished >= UNFINISHED_LISTS;
  if (end.kind === 'closed')
    return {
      relist: false,
      listInPages: neverWhole,
      wait: watch.listing || watch.livedMs < SHORTEST_WATCH_MS,
    };
  // A frozen connection, or a position from before the server's data was restored: the server then sends nothing at all,
  // for ever. Only a new list mends that.
  if (end.kind === 'silent') return { relist: true, listInPages: neverWhole, wait: true };
  return {
    relist: LOSES_POSITION.has(end.status),
    listInPages: watch.listing && (end.status === 400 || end.status === 422),
    wait: true,
  };
}

/** Whether a streaming list was taken and never came to its end: how servers and proxies fail that half know it. */
export function isUnfinished(end: WatchEnd, listing: boolean): boolean {
  return listing && end.kind !== 'refused';
}

/** What was wrong; undefined for a watch that ended in order. */
export function endProblem(end: WatchEnd, listing: boolean): string | undefined {
  if (end.kind === 'refused') return end.message;
  if (listing)
    return `the list was not whole when ${end.kind === 'silent' ? 'its time was over' : 'the server ended it'}`;
  return end.kind === 'silent' ? 'the server fell silent' : undefined;
}

/** What is said about a watch when one asks whether the bridge is ready. */
export interface WatchState {
  /** Everything was listed at least once. */
  readonly synced: boolean;
  /** False after two failures in a row, until the server answers again. */
  readonly connected: boolean;
  readonly lastError: string | undefined;
}

/** Pure: whether a watch hears of every change at the moment. */
export function isUp({ synced, connected }: WatchState): boolean {
  return synced && connected;
}

/** @returns why the watch can't be relied on at the moment; `undefined` when it can */
export function watchProblem(name: string, state: WatchState): string | undefined {
  if (!state.synced) return `${name}: not listed yet${state.lastError ? ` (${state.lastError})` : ''}`;
  if (!state.connected) return `${name}: ${state.lastError ?? 'not connected'}`;
  return undefined;
}
