import { RuntimeError } from '../../shared/errors.ts';
import type { ObjectKey } from '../../shared/model/object-key.ts';
import { DeliveryState, type Settlement } from '../../shared/queue/delivery-state.ts';
import type { Hold, StopReason } from '../step/hold.ts';
import { Deadline } from './deadline.ts';

export interface LeaseTimes {
  leaseMs: number;
  renewalMs: number;
  marginMs: number;
}

/**
 * The right to work on one object, held and renewed in Redis. `guard` refuses a holder whose time is over, by its own
 * clock, even if Redis or the event loop stood still meanwhile.
 */
export class ObjectLease implements Hold {
  readonly key: ObjectKey;
  readonly token: string;
  readonly #state: DeliveryState;
  readonly #times: LeaseTimes;
  readonly #stop = new AbortController();
  readonly #deadline: Deadline;
  #parkedSeen = 0;
  #ended = false;
  #timer: NodeJS.Timeout | undefined;
  #onWanted: (() => void) | undefined;

  private constructor(state: DeliveryState, key: ObjectKey, token: string, deadline: number, times: LeaseTimes) {
    this.#state = state;
    this.key = key;
    this.token = token;
    this.#deadline = new Deadline(deadline, () => this.stop('LeaseLost'));
    this.#times = times;
  }

  /** Undefined when somebody else holds the object: it is parked then. Rejects only when Redis does. */
  static async acquire(state: DeliveryState, key: ObjectKey, times: LeaseTimes): Promise<ObjectLease | undefined> {
    const token = DeliveryState.token();
    // Counted from before the request is sent: the lease can't be older than that.
    const deadline = performance.now() + times.leaseMs - times.marginMs;
    if (!(await state.acquire(key, token, times.leaseMs))) return undefined;
    return new ObjectLease(state, key, token, deadline, times);
  }

  /** Fires with a {@link StopReason}. */
  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  get lost(): AbortSignal {
    return this.#deadline.signal;
  }

  get valid(): boolean {
    return !this.#deadline.passed;
  }

  readonly guard = (): void => {
    if (this.valid) return;
    this.stop('LeaseLost');
    throw new RuntimeError('STALE_HOLDER', 'the lease on the object is over; nothing was sent');
  };

  stop(reason: StopReason): void {
    if (reason === 'LeaseLost') this.#deadline.end();
    if (!this.signal.aborted) this.#stop.abort(reason);
  }

  /** From now on the lease is renewed in Redis, where it shows when somebody came for the object: it is parked then. */
  renewed(onWanted: () => void): void {
    this.#onWanted = onWanted;
    this.#schedule();
  }

  /**
   * Gives the object back. The mark of whoever came meanwhile (0: nobody), or `undefined` when the lease had been lost,
   * and then nothing was changed.
   */
  async settle(settlement: Settlement): Promise<number | undefined> {
    this.end();
    return this.#state.settle(this.key, this.token, settlement);
  }

  /** No more renewals and no more requests under this lease. */
  end(): void {
    this.#ended = true;
    this.#deadline.end();
    clearTimeout(this.#timer);
  }

  #schedule(): void {
    this.#timer = setTimeout(() => void this.#renew(), this.#times.renewalMs);
  }

  async #renew(): Promise<void> {
    const deadline = performance.now() + this.#times.leaseMs - this.#times.marginMs;
    try {
      const parked = await this.#state.renew(this.key, this.token, this.#times.leaseMs);
      if (parked === undefined) {
        this.stop('LeaseLost');
        return;
      }
      this.#deadline.putOff(deadline);
      if (parked > this.#parkedSeen) this.#onWanted?.();
      this.#parkedSeen = parked;
    } catch {
      // Redis is away. The lease may outlive that; if not, the deadline passes.
      if (!this.valid) this.stop('LeaseLost');
    }
    if (!this.#ended) this.#schedule();
  }
}
