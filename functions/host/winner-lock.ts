import { setTimeout as sleep } from 'node:timers/promises';
import type { FunctionName } from '../../shared/events/catalogue.ts';
import type { ObjectKey } from '../../shared/model/object-key.ts';
import { again, type Outcome } from '../../shared/events/outcome.ts';
import { DeliveryState } from '../../shared/queue/delivery-state.ts';
import { winnerLockMember } from '../../shared/queue/keys.ts';
import { WINNER_POLL_MS, WINNER_PATIENCE_MS, WINNER_RETRY_MS } from '../tuning.ts';

/**
 * The idempotency key around the choice of a workspace's winner, so that two objects of one workspace are not made
 * winners at once. The rule itself is computed from the workspace's objects: a lost key costs nothing.
 */
export function winnerLockOf(functionName: FunctionName, key: ObjectKey): string | undefined {
  return functionName === 'resolve-credentials' && key.mode === 'kcp' ? winnerLockMember(key) : undefined;
}

export async function withWinnerLock(
  state: DeliveryState,
  lock: string | undefined,
  ttlMs: number,
  invoke: () => Promise<Outcome>,
): Promise<Outcome> {
  if (lock === undefined) return invoke();
  const token = DeliveryState.token();
  const end = performance.now() + WINNER_PATIENCE_MS;
  while (!(await state.lock(lock, token, ttlMs))) {
    if (performance.now() > end) return again(WINNER_RETRY_MS, 'another object of the workspace is looked at');
    await sleep(WINNER_POLL_MS);
  }
  try {
    return await invoke();
  } finally {
    // A key that stays because Redis is away ends by itself.
    await state.unlock(lock, token).catch(() => undefined);
  }
}
