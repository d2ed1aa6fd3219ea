import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { messageOf } from '../../shared/errors.ts';
import { displayKey, tenantOf } from '../../shared/model/object-key.ts';
import type { Publisher } from '../../shared/queue/publisher.ts';
import { Backoff } from '../watch/backoff.ts';
import { FairShare } from './fair-share.ts';
import { Outbox } from './outbox.ts';
import { type Notice, shortType, toEvent } from './to-events.ts';
import type { BridgeTuning } from '../tuning.ts';
import { SEND_GRACE_MS } from '../tuning.ts';

type SendTuning = Pick<
  BridgeTuning,
  'share' | 'sendConcurrency' | 'sendRetryFirstMs' | 'sendRetryLimitMs' | 'sendTimeoutMs'
>;

/** Step 6: sends events. While the queue is away it remembers which objects changed, and nothing else. */
export class Sender {
  readonly #publisher: Publisher;
  readonly #open: () => boolean;
  readonly #tuning: SendTuning;
  readonly #log: Logger;
  readonly #backoff: Backoff;
  readonly #outbox = new Outbox();
  readonly #share: FairShare;
  #inFlight = 0;
  #pause: NodeJS.Timeout | undefined;
  #problem: string | undefined;
  #stopped = false;

  /** @param open whether the queue may be used at the moment; call {@link wake} when it may again */
  constructor(publisher: Publisher, open: () => boolean, options: { tuning: SendTuning; log: Logger }) {
    this.#publisher = publisher;
    this.#open = open;
    this.#tuning = options.tuning;
    this.#log = options.log;
    this.#share = new FairShare(options.tuning.share);
    this.#backoff = new Backoff(options.tuning.sendRetryFirstMs, options.tuning.sendRetryLimitMs);
  }

  /** Will be sent as soon as that is possible, behind others where its tenant is over his share. Never waits, never throws. */
  remember(notice: Notice): void {
    const over = notice.priority === 'user' && !this.#share.allows(tenantOf(notice.key), performance.now());
    this.#outbox.add(over ? { ...notice, priority: 'background' } : notice);
    this.wake();
  }

  /**
   * Sends them all behind everything else, read only as fast as they are sent. A sweep of the same name that isn't
   * through yet starts anew, or goes on as it is with `keep`.
   */
  sweep(name: string, notices: Iterable<Notice>, running: 'restart' | 'keep' = 'restart'): void {
    this.#outbox.sweep(name, notices, running);
    this.wake();
  }

  /** Sends once, now. Rejects when that fails: then nothing is remembered. */
  async publishNow(notice: Notice): Promise<void> {
    const event = toEvent(notice);
    await this.#publisher.publish(event, notice.priority);
    const { reason, priority } = notice;
    this.#log.info({ event: shortType(event.type), object: displayKey(notice.key), reason, priority }, 'published');
  }

  /** Goes on with what is remembered. */
  wake(): void {
    while (!this.#stopped && !this.#pause && this.#inFlight < this.#tuning.sendConcurrency && this.#open()) {
      const notice = this.#outbox.take();
      if (!notice) return;
      void this.#send(notice);
    }
  }

  /** Why events are held back at the moment. */
  get problem(): string | undefined {
    if (this.#problem === undefined) return undefined;
    return `queue: ${this.#problem}; ${this.#outbox.size} objects wait to be sent`;
  }

  /** How many objects wait to be sent. */
  get waiting(): number {
    return this.#outbox.size;
  }

  /** Sends nothing more, and waits a moment for what is under way. */
  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#pause);
    const deadline = performance.now() + SEND_GRACE_MS;
    while (this.#inFlight > 0 && performance.now() < deadline) await sleep(10);
  }

  async #send(notice: Notice): Promise<void> {
    this.#inFlight += 1;
    let late = false;
    // A queue that doesn't answer keeps its place among those in flight, so that they can't pile up.
    const timeout = setTimeout(() => {
      late = true;
      this.#failed(notice, 'no answer');
    }, this.#tuning.sendTimeoutMs);
    try {
      await this.publishNow(notice);
      this.#backoff.reset();
      this.#problem = undefined;
    } catch (error) {
      if (!late) this.#failed(notice, messageOf(error));
    } finally {
      clearTimeout(timeout);
      this.#inFlight -= 1;
      this.wake();
    }
  }

  #failed(notice: Notice, problem: string): void {
    this.#outbox.putBack(notice);
    if (this.#problem === undefined) this.#log.warn({ problem }, 'the queue is away; changes are remembered');
    this.#problem = problem;
    if (this.#pause || this.#stopped) return;
    this.#pause = setTimeout(() => {
      this.#pause = undefined;
      this.wake();
    }, this.#backoff.next());
  }
}
