import { setTimeout as sleep } from 'node:timers/promises';
import type { Dispatcher } from 'undici';
import { REMEMBERED_PAUSES } from '../tuning.ts';
import type { ApiError } from './api-error.ts';
import { failureOf, type Request, send, type Transport } from './transport.ts';

/** What time it is, and how to wait. */
export interface Clock {
  /** Milliseconds that never go back. */
  now(): number;
  sleep(ms: number, signal: AbortSignal): Promise<void>;
}

const CLOCK: Clock = {
  now: () => performance.now(),
  sleep: (ms, signal) => sleep(ms, undefined, { signal }),
};

/**
 * What one server does not want to be asked before a certain time. By method and path: a server that has enough of one
 * thing (a webhook, a flow of its priorities) says nothing about all others, and a tenant's must not hold up anybody else.
 */
export class Pauses {
  readonly #clock: Clock;
  readonly #open = new Map<string, { readonly until: number; readonly failure: ApiError }>();

  constructor(clock = CLOCK) {
    this.#clock = clock;
  }

  get clock(): Clock {
    return this.#clock;
  }

  note(id: string, failure: ApiError): void {
    if (failure.retryAfterMs === undefined) return;
    this.#open.delete(id);
    this.#open.set(id, { until: this.#clock.now() + failure.retryAfterMs, failure });
    if (this.#open.size <= REMEMBERED_PAUSES) return;
    const [oldest] = this.#open.keys();
    if (oldest !== undefined) this.#open.delete(oldest);
  }

  /** What the server said to the last request of that kind, with the time that is left; undefined when it is over. */
  of(id: string): (ApiError & { readonly retryAfterMs: number }) | undefined {
    const pause = this.#open.get(id);
    if (!pause) return undefined;
    const leftMs = pause.until - this.#clock.now();
    if (leftMs > 0) return pause.failure.after(leftMs);
    this.#open.delete(id);
    return undefined;
  }
}

export interface PacedTransport extends Transport {
  readonly pauses: Pauses;
}

/**
 * Sends a request, but not before the time for which the server has asked when it refused one like it. One that was
 * throttled (429: nothing was done) is sent again then.
 * @param patienceMs how long it may wait; with 0 whoever asks has to come again
 * @throws ApiError for any answer but 2xx; its `retryAfterMs` says when to come again
 */
export async function sendInTime(
  transport: () => PacedTransport,
  request: Request,
  patienceMs: number,
): Promise<Dispatcher.ResponseData> {
  const { pauses } = transport();
  const id = `${request.method} ${request.server}${request.path}`;
  const end = pauses.clock.now() + patienceMs;
  for (;;) {
    for (let asked = pauses.of(id); asked; asked = pauses.of(id)) {
      if (pauses.clock.now() + asked.retryAfterMs >= end) throw asked;
      request.guard?.();
      await pauses.clock.sleep(asked.retryAfterMs, request.signal).catch(() => {
        request.guard?.();
        throw asked;
      });
    }
    const response = await send(transport, request);
    if (response.statusCode >= 200 && response.statusCode < 300) return response;
    const failure = await failureOf(request, response);
    pauses.note(id, failure);
    if (failure.status !== 429 || failure.retryAfterMs === undefined) throw failure;
  }
}
