import { isForbidden, isUnauthorized } from '../../shared/kube/api-error.ts';
import { eventually } from './wait.ts';

/** Waits until a call is allowed: new rights take effect a moment after they are written. */
export function allowed(call: () => Promise<unknown>): Promise<true> {
  return eventually('the call is allowed', async () => {
    await call();
    return true as const;
  });
}

/** Whether a call is refused for lack of rights, or because the token is not valid any more. */
export async function refused(call: () => Promise<unknown>): Promise<boolean> {
  try {
    await call();
    return false;
  } catch (error) {
    if (isForbidden(error) || isUnauthorized(error)) return true;
    throw error;
  }
}
