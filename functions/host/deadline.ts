/** Until when requests may be sent: a time that can be put off until it has passed, by `performance.now()`. */
export class Deadline {
  readonly #over = new AbortController();
  readonly #onPassed: () => void;
  #at: number;
  #timer: NodeJS.Timeout | undefined;

  /** @param onPassed called once, and not when {@link end} comes before */
  constructor(at: number, onPassed: () => void) {
    this.#at = at;
    this.#onPassed = onPassed;
    this.#arm();
  }

  /** Fires when it is over: what is under way is dropped. */
  get signal(): AbortSignal {
    return this.#over.signal;
  }

  /** By the clock: the event loop may have stood still past the time at which the signal should have fired. */
  get passed(): boolean {
    return this.#over.signal.aborted || performance.now() >= this.#at;
  }

  putOff(at: number): void {
    this.#at = at;
  }

  /** Over now, whatever the time. */
  end(): void {
    clearTimeout(this.#timer);
    this.#over.abort();
  }

  #arm(): void {
    const left = Math.max(1, this.#at - performance.now());
    this.#timer = setTimeout(() => {
      if (performance.now() < this.#at) return this.#arm();
      this.#over.abort();
      this.#onPassed();
    }, left).unref();
  }
}
