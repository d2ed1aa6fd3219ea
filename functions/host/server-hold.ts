import { RuntimeError } from '../../shared/errors.ts';
import type { Hold, StopReason } from '../step/hold.ts';

/** The hold of a server: for as long as the sender said, or until it hangs up. There is nothing that could be renewed. */
export class ServerHold implements Hold {
  readonly #stop = new AbortController();
  readonly #deadline: number;
  readonly #lookMs: number;
  #look: NodeJS.Timeout | undefined;
  #ended = false;

  /** @param lookMs how often somebody may have come for the object: a server is not told */
  constructor(holdMs: number, lookMs: number) {
    this.#deadline = performance.now() + holdMs;
    this.#lookMs = lookMs;
  }

  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  readonly guard = (): void => {
    if (!this.#ended && this.signal.reason !== 'LeaseLost' && performance.now() < this.#deadline) return;
    this.stop('LeaseLost');
    throw new RuntimeError('STALE_HOLDER', 'the sender does not hold the object any more; nothing was sent');
  };

  stop(reason: StopReason): void {
    if (!this.signal.aborted) this.#stop.abort(reason);
  }

  renewed(onWanted: () => void): void {
    this.#look ??= setInterval(onWanted, this.#lookMs);
  }

  /** No more requests under this hold. */
  end(): void {
    this.#ended = true;
    clearInterval(this.#look);
  }
}
