import type { Logger } from 'pino';
import { messageOf } from '../../shared/errors.ts';
import type { DeliveryState } from '../../shared/queue/delivery-state.ts';
import { epochStep, type KnownEpochs, mayBeFirst } from './decide-epoch.ts';
import type { FirstStart } from './first-start.ts';

export interface EpochOptions {
  longestLeaseMs: number;
  /** Everything has to be published anew; called before {@link EpochKeeper.verified} becomes true. */
  onChanged: () => void;
  /** Tells a new Redis from a wiped one; without it, each is taken for wiped. */
  firstStart?: FirstStart;
  log: Logger;
}

/**
 * Notices when Redis has lost its memory: wiped, failed over, or set back to an older state. Until the epoch was looked
 * at on the present connection nothing may be sent, since it could be sent into a Redis that has to be filled anew.
 */
export class EpochKeeper {
  readonly #state: DeliveryState;
  readonly #longestLeaseMs: number;
  readonly #log: Logger;
  readonly #onChanged: () => void;
  readonly #firstStart: FirstStart | undefined;
  readonly #past = new Set<string>();
  #current: string | undefined;
  #connection = 0;
  #checked = -1;
  #quietUntil = 0;
  #problem: string | undefined;
  #lastLook: Promise<void> = Promise.resolve();
  #marking = false;

  constructor(state: DeliveryState, options: EpochOptions) {
    this.#state = state;
    this.#longestLeaseMs = options.longestLeaseMs;
    this.#log = options.log;
    this.#onChanged = options.onChanged;
    this.#firstStart = options.firstStart;
  }

  get verified(): boolean {
    return this.#checked === this.#connection;
  }

  /** For so long after an epoch was begun here, no object is handed out. */
  get quiet(): boolean {
    return performance.now() < this.#quietUntil;
  }

  /** Why the last look found nothing out; undefined when it did. */
  get problem(): string | undefined {
    return this.#problem;
  }

  get #known(): KnownEpochs {
    return { current: this.#current, past: this.#past };
  }

  /** The connection is gone: whoever answers next may be another server. */
  connectionLost(): void {
    this.#connection += 1;
  }

  /** Looks at the epoch, one look after another: two at once would both begin one. */
  check(): Promise<void> {
    const look = this.#lastLook.then(() => this.#look());
    this.#lastLook = look.then(
      () => void (this.#problem = undefined),
      (error) => void (this.#problem = messageOf(error)),
    );
    return look;
  }

  async #look(): Promise<void> {
    const connection = this.#connection;
    const read = await this.#state.readEpoch();
    const step = epochStep(read, this.#known);
    if (step !== 'keep') {
      const id = step === 'begin' ? await this.#begin(read) : read.id;
      if (this.#current !== undefined) this.#past.add(this.#current);
      this.#current = id;
      this.#log.info({ epoch: id, step }, 'new epoch: everything is published again');
      this.#onChanged();
    }
    this.#checked = connection;
    this.#leaveMark();
  }

  async #begin(read: { id: string }): Promise<string> {
    const first = await this.#beginFirst(read);
    if (first !== undefined) return first;
    const startedAt = performance.now();
    const id = await this.#state.beginEpoch(this.#longestLeaseMs);
    this.#quietUntil = startedAt + this.#longestLeaseMs;
    return id;
  }

  /** Without a pause, where nobody can hold anything. The mark comes first: whoever dies after it has only lost that. */
  async #beginFirst(read: { id: string }): Promise<string | undefined> {
    if (!this.#firstStart || !mayBeFirst(read, this.#known)) return undefined;
    const server = await this.#state.readServer();
    if (!server || !(await this.#firstStart.claim())) return undefined;
    return this.#state.beginFirstEpoch(server, this.#longestLeaseMs);
  }

  /** Also where an earlier version began the epoch. Nobody waits for it; once it is known to be there, it costs nothing. */
  #leaveMark(): void {
    if (this.#marking || !this.#firstStart) return;
    this.#marking = true;
    void this.#firstStart
      .leave()
      .catch((error: unknown) => this.#log.debug({ problem: messageOf(error) }, 'no mark was left'))
      .finally(() => (this.#marking = false));
  }
}
