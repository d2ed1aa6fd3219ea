import { setTimeout as sleep } from 'node:timers/promises';

const POLL_MS = 30;
/** Generous: what is waited for takes seconds, on a busy machine some more. A test has longer, see `vitest.config.ts`. */
const DEFAULT_TIMEOUT_MS = 90_000;

export interface WaitOptions {
  /** Milliseconds; default 90 s. */
  timeout?: number;
  signal?: AbortSignal;
}

/**
 * Asks again and again until the answer is neither `undefined` nor `false`, and returns it. An exception counts as "not
 * yet". When time is up, the error says what was waited for and what the last attempt saw.
 * @param seen put in here what a failure should show, such as the object as it was last read
 */
export async function eventually<T>(
  description: string,
  fn: (seen: (what: unknown) => void) => Promise<T | undefined | false> | T | undefined | false,
  options: WaitOptions = {},
): Promise<T> {
  const limit = options.timeout ?? DEFAULT_TIMEOUT_MS;
  const deadline = Date.now() + limit;
  let last: unknown = 'nothing';
  for (;;) {
    try {
      const answer = await fn((what) => (last = what));
      if (answer !== undefined && answer !== false) return answer;
    } catch (error) {
      last = error;
    }
    options.signal?.throwIfAborted();
    if (Date.now() > deadline) throw timedOut(description, limit, last);
    await sleep(POLL_MS);
  }
}

function timedOut(description: string, limit: number, last: unknown): Error {
  const seen = last instanceof Error ? last.message : JSON.stringify(last, undefined, 2);
  const message = `not within ${limit / 1000} s: ${description}\nlast seen: ${seen}`;
  return new Error(message, last instanceof Error ? { cause: last } : undefined);
}
