const FIRST_RETRY_MS = 50;
const LAST_RETRY_MS = 5_000;

/** What a handler returns to be called again later for the same key. */
export interface Requeue {
  afterMs: number;
}

/**
 * Calls a handler for keys: different ones in parallel, one key never twice at a time, and a key that is added while
 * its handler runs once more afterwards. A handler that throws is called again, ever later.
 */
export class WorkQueue {
  readonly #handler: (key: string) => Promise<Requeue | void>;
  readonly #onError: (key: string, error: unknown) => void;
  readonly #concurrency: number;
  readonly #waiting = new Set<string>();
  readonly #active = new Set<string>();
  readonly #failures = new Map<string, number>();
  readonly #timers = new Map<string, NodeJS.Timeout>();
  #stopped = false;
  #onIdle: (() => void) | undefined;

  constructor(
    concurrency: number,
    handler: (key: string) => Promise<Requeue | void>,
    onError: (key: string, error: unknown) => void,
  ) {
    this.#concurrency = concurrency;
    this.#handler = handler;
    this.#onError = onError;
  }

  add(key: string): void {
    if (this.#stopped) return;
    this.#waiting.add(key);
    this.#next();
  }

  /** Starts nothing new and resolves when all handlers have returned. */
  async stop(): Promise<void> {
    this.#stopped = true;
    for (const timer of this.#timers.values()) clearTimeout(timer);
    if (this.#active.size > 0) await new Promise<void>((resolve) => (this.#onIdle = resolve));
  }

  #next(): void {
    for (const key of this.#waiting) {
      if (this.#stopped || this.#active.size >= this.#concurrency) return;
      if (this.#active.has(key)) continue;
      this.#waiting.delete(key);
      this.#active.add(key);
      void this.#run(key);
    }
  }

  async #run(key: string): Promise<void> {
    try {
      const requeue = await this.#handler(key);
      this.#failures.delete(key);
      if (requeue) this.#later(key, requeue.afterMs);
    } catch (error) {
      const failures = this.#failures.get(key) ?? 0;
      this.#failures.set(key, failures + 1);
      if (!this.#stopped) this.#onError(key, error);
      this.#later(key, Math.min(FIRST_RETRY_MS * 2 ** failures, LAST_RETRY_MS));
    } finally {
      this.#active.delete(key);
      if (this.#stopped && this.#active.size === 0) this.#onIdle?.();
      this.#next();
    }
  }

  #later(key: string, afterMs: number): void {
    clearTimeout(this.#timers.get(key));
    if (this.#stopped) return;
    const timer = setTimeout(() => {
      this.#timers.delete(key);
      this.add(key);
    }, afterMs);
    this.#timers.set(key, timer.unref());
  }
}
