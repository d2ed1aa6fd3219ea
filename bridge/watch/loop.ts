import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { KubeObject } from '../../shared/model/kubernetes.ts';
import { Backoff } from './backoff.ts';
import { endProblem, isUnfinished, nextTry, type WatchEnd, type WatchState } from './decide-watch.ts';
import type { WatchTuning } from '../tuning.ts';
import { endOf, listInPages, watchOnce, type WatchTarget } from './once.ts';

/** Where changes go. Hears nothing while the server can't be read: that is never taken for a deletion. */
export interface WatchSink<Digest> {
  /** All that exists, after each complete list. */
  replaced(items: readonly Digest[]): void;
  event(type: 'ADDED' | 'MODIFIED' | 'DELETED', item: Digest): void;
}

/**
 * Step 2: lists and watches one type at one address, for ever, until stopped. The list comes as the watch's own initial
 * events where the server has that, in pages otherwise; an interrupted watch goes on from where it was, or lists again
 * where it can't (see `decide-watch.ts`). Objects are reduced to digests as they arrive, so that no list is ever held
 * in full size.
 */
export class WatchLoop<T extends KubeObject, Digest> {
  readonly #target: WatchTarget<T, Digest>;
  readonly #sink: WatchSink<Digest>;
  readonly #tuning: WatchTuning;
  readonly #log: Logger;
  readonly #backoff: Backoff;
  readonly #stopped = new AbortController();
  #attempt = new AbortController();
  #position: string | undefined;
  #listInPages = false;
  #unfinished = 0;
  #failures = 0;
  /** The server wants to be left alone: until then it is not followed. */
  #paused = false;
  #synced = false;
  #lastError: string | undefined;
  #started = false;

  constructor(target: WatchTarget<T, Digest>, sink: WatchSink<Digest>, options: { tuning: WatchTuning; log: Logger }) {
    this.#target = target;
    this.#sink = sink;
    this.#tuning = options.tuning;
    this.#log = options.log.child({ watch: target.type.plural, server: target.client.server });
    this.#backoff = new Backoff(options.tuning.backoffFirstMs, options.tuning.backoffLimitMs);
  }

  get state(): WatchState {
    return { synced: this.#synced, connected: this.#failures < 2 && !this.#paused, lastError: this.#lastError };
  }

  start(): void {
    if (this.#started) return;
    this.#started = true;
    void this.#run();
  }

  /** The sink hears nothing from here on. */
  stop(): void {
    this.#stopped.abort();
    this.#attempt.abort();
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopped;
    while (!signal.aborted) {
      const startedAt = performance.now();
      const end = await this.#tryOnce();
      if (signal.aborted) return;
      const livedMs = performance.now() - startedAt;
      const listing = this.#position === undefined;
      if (isUnfinished(end, listing)) this.#unfinished += 1;
      const next = nextTry(end, { livedMs, listing, unfinished: this.#unfinished });
      const problem = endProblem(end, listing);
      if (problem !== undefined) this.#failed(problem, next.relist);
      if (next.relist) this.#position = undefined;
      if (next.listInPages) this.#listInPages = true;
      if (livedMs >= this.#tuning.healthyAfterMs) this.#backoff.reset();
      const askedMs = (end.kind === 'refused' && end.retryAfterMs) || 0;
      this.#paused = askedMs > 0;
      if (next.wait) await sleep(Math.max(askedMs, this.#backoff.next()), undefined, { signal }).catch(() => undefined);
      this.#paused = false;
    }
  }

  /** One watch from its beginning to its end, whatever ends it. */
  async #tryOnce(): Promise<WatchEnd> {
    const attempt = (this.#attempt = new AbortController());
    let silent = false;
    const fallSilent = (): void => {
      silent = true;
      attempt.abort();
    };
    let silence: NodeJS.Timeout | undefined;
    try {
      if (this.#position === undefined && this.#listInPages) await this.#list();
      silence = setTimeout(fallSilent, this.#tuning.silenceLimitMs);
      const listener = {
        // While initial events come nothing is known yet, however many there are.
        heard: () => {
          if (this.#position === undefined) return;
          silence?.refresh();
          this.#answered();
        },
        replaced: (items: readonly Digest[]) => this.#replaced(items),
        event: (type: 'ADDED' | 'MODIFIED' | 'DELETED', item: Digest) =>
          this.#guarded(() => this.#sink.event(type, item)),
        reached: (position: string | undefined) => {
          this.#position = position;
          listener.heard();
        },
      };
      const timeoutSeconds = Math.round(this.#tuning.requestTimeoutSeconds * (1 + Math.random()));
      const options = { position: this.#position, timeoutSeconds, signal: attempt.signal };
      return await watchOnce(this.#target, listener, options);
    } catch (error) {
      return silent ? { kind: 'silent' } : endOf(error);
    } finally {
      clearTimeout(silence);
    }
  }

  async #list(): Promise<void> {
    const { items, position } = await listInPages(this.#target);
    if (this.#stopped.signal.aborted) return;
    this.#replaced(items);
    this.#position = position;
  }

  #replaced(items: readonly Digest[]): void {
    this.#log.info({ count: items.length }, this.#synced ? 'listed again' : 'listed');
    this.#guarded(() => this.#sink.replaced(items));
    this.#synced = true;
    this.#unfinished = 0;
  }

  /** A fault in handling one object must not blind the bridge to all the others. */
  #guarded(handle: () => void): void {
    try {
      handle();
    } catch (error) {
      this.#log.error({ err: error }, 'a change could not be handled');
    }
  }

  #answered(): void {
    if (this.#failures > 0) this.#log.info('watching again');
    this.#failures = 0;
    this.#lastError = undefined;
  }

  #failed(problem: string, relist: boolean): void {
    this.#failures += 1;
    this.#lastError = problem;
    this.#log.warn({ problem, failures: this.#failures, relist }, 'watch interrupted');
  }
}
