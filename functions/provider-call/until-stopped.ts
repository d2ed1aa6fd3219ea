import { setTimeout as sleep } from 'node:timers/promises';
import { RuntimeError } from '../../shared/errors.ts';
import { CALL_GRACE_MS } from '../../shared/tuning.ts';
import type { Run } from '../step/run.ts';

/**
 * A provider's call, left alone once it was told to end and did not: what it still does can't reach a cluster any more.
 * @throws RuntimeError `STALE_HOLDER`
 */
export async function untilStopped<T>(
  run: Pick<Run, 'signal'>,
  call: Promise<T>,
  graceMs: number = CALL_GRACE_MS,
): Promise<T> {
  const finished = new AbortController();
  const stopped = async (): Promise<never> => {
    if (!run.signal.aborted)
      await new Promise((resolve) => {
        run.signal.addEventListener('abort', resolve, { once: true, signal: finished.signal });
      });
    await sleep(graceMs, undefined, { signal: finished.signal });
    throw new RuntimeError(
      'STALE_HOLDER',
      `the provider's call did not end when told to (${String(run.signal.reason)})`,
    );
  };
  try {
    return await Promise.race([call, stopped()]);
  } finally {
    finished.abort();
  }
}
