import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { messageOf } from '../../shared/errors.ts';

/**
 * Does something again and again, `everyMs` after it last ended, until `signal` fires. An error is logged, once for a row
 * of them, and ends nothing.
 */
export async function repeat(
  name: string,
  everyMs: number,
  task: () => Promise<void>,
  { signal, log }: { signal: AbortSignal; log: Logger },
): Promise<void> {
  let failing = false;
  while (!signal.aborted) {
    try {
      await task();
      failing = false;
    } catch (error) {
      log[failing ? 'debug' : 'warn']({ duty: name, problem: messageOf(error) }, 'duty failed; it goes on');
      failing = true;
    }
    await sleep(everyMs, undefined, { signal }).catch(() => undefined);
  }
}
