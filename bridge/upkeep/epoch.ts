import type { Logger } from 'pino';
import type { DeliveryState } from '../../shared/queue/delivery-state.ts';
import { epochStep } from './decide-epoch.ts';

/**
 * Notices when Redis has lost its memory: wiped, failed over, or set back to an older state. Until the epoch was looked
 * at on the present connection nothing may be sent, since it could be sent into a Redis that has to be filled anew.
 */
export class EpochKeeper {
  readonly #state: DeliveryState;
  readonly #longestLeaseMs: number;
  readonly #log: Logger;
  readonly #onChanged: () => void;
  readonly #past = new Set<string>();
  #current: string | undefined;
  #connection = 0;
  #checked = -1;
  #quietUntil = 0;
  #lastLook: Promise<void> = Promise.resolve();

  /** @param onChanged everything has to be published anew; called before {@link verified} becomes true */
  constructor(state: DeliveryState, options: { longestLeaseMs: number; log: Logger; onChanged: () => void }) {
    this.#state = state;
    this.#longestLeaseMs = options.longestLeaseMs;
    this.#log = options.log;
    this.#onChanged = options.onChanged;
  }

  get verified(): boolean {
    return this.#checked === this.#connection;
  }

  /** For so long after an epoch was begun here, no object is handed out. */
  get quiet(): boolean {
    return performance.now() < this.#quietUntil;
  }

  /** The connection is gone: whoever answers next may be another server. */
  connectionLost(): void {
    this.#connection += 1;
  }

  /** Looks at the epoch, one look after another: two at once would both begin one. */
  check(): Promise<void> {
    const look = this.#lastLook.then(() => this.#look());
    this.#lastLook = look.catch(() => undefined);
    return look;
  }

  async #look(): Promise<void> {
    const connection = this.#connection;
    const read = await this.#state.readEpoch();
    const step = epochStep(read, { current: this.#current, past: this.#past });
    if (step !== 'keep') {
      const startedAt = performance.now();
      const id = step === 'begin' ? await this.#state.beginEpoch(this.#longestLeaseMs) : read.id;
      if (step === 'begin') this.#quietUntil = startedAt + this.#longestLeaseMs;
      if (this.#current !== undefined) this.#past.add(this.#current);
      this.#current = id;
      this.#log.info({ epoch: id, step }, 'new epoch: everything is published again');
      this.#onChanged();
    }
    this.#checked = connection;
  }
}
