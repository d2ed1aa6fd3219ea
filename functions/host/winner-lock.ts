import { setTimeout as sleep } from 'node:timers/promises';
import type { FunctionName } from '../../shared/events/catalogue.ts';
import type { ObjectKey } from '../../shared/model/object-key.ts';
import { again, type Outcome } from '../../shared/events/outcome.ts';
import { DeliveryState } from '../../shared/queue/delivery-state.ts';
import { claimMember } from '../../shared/queue/keys.ts';

const POLL_MS = 20;
/** resolve-credentials is short; who waits longer than this gives the worker free. */
const PATIENCE_MS = 2_000;
const RETRY_MS = 500;

/**
 * The idempotency key around the choice of a workspace's winner, so that two objects of one workspace are not claimed
 * at once. The rule itself is computed from the workspace's objects: a lost key costs nothing.
 */
export function claimOf(functionName: FunctionName, key: ObjectKey): string | undefined {
  return functionName === 'resolve-credentials' && key.mode === 'kcp' ? claimMember(key) : undefined;
}

export async function withClaim(
  state: DeliveryState,
  claim: string | undefined,
  ttlMs: number,
  invoke: () => Promise<Outcome>,
): Promise<Outcome> {
  if (claim === undefined) return invoke();
  const token = DeliveryState.token();
  const end = performance.now() + PATIENCE_MS;
  while (!(await state.claim(claim, token, ttlMs))) {
    if (performance.now() > end) return again(RETRY_MS, 'another object of the workspace is looked at');
    await sleep(POLL_MS);
  }
  try {
    return await invoke();
  } finally {
    // A key that stays because Redis is away ends by itself.
    await state.releaseClaim(claim, token).catch(() => undefined);
  }
}
