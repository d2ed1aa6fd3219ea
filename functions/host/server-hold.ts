import { RuntimeError } from '../../shared/errors.ts';
import type { Hold, StopReason } from '../step/hold.ts';
import { Deadline } from './deadline.ts';

/** The hold of a server: for as long as the sender said, or until it hangs up. There is nothing that could be renewed. */
export class ServerHold implements Hold {
  readonly #stop = new AbortController();
  readonly #deadline: Deadline;
  readonly #lookMs: number;
  #look: NodeJS.Timeout | undefined;

  /** @param lookMs how often somebody may have come for the object: a server is not told */
  constructor(holdMs: number, lookMs: number) {
    this.#deadline = new Deadline(performance.now() + holdMs, () => this.stop('LeaseLost'));
    this.#lookMs = lookMs;
  }

  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  get lost(): AbortSignal {
    return this.#deadline.signal;
  }

  readonly guard = (): void => {
    if (!this.#deadline.passed) return;
    this.stop('LeaseLost');
    throw new RuntimeError('STALE_HOLDER', 'the sender does not hold the object any more; nothing was sent');
  };

  stop(reason: StopReason): void {
    if (reason === 'LeaseLost') this.#deadline.end();
    if (!this.signal.aborted) this.#stop.abort(reason);
  }

  renewed(onWanted: () => void): void {
    this.#look ??= setInterval(onWanted, this.#lookMs);
  }

  /** No more requests under this hold. */
  end(): void {
    this.#deadline.end();
    clearInterval(this.#look);
  }
}
