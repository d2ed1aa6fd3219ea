import { isForbidden, isUnauthorized } from '../../shared/kube/api-error.ts';
import type { KubeClient } from '../../shared/kube/ports.ts';
import type { KubeObject, ResourceType } from '../../shared/model/kubernetes.ts';
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

/** Deletes an object that has no namespace, and waits until somebody has made another of that name. */
export async function untilMadeAgain<T extends KubeObject>(
  client: KubeClient,
  type: ResourceType,
  name: string,
): Promise<{ before: T | undefined; after: T }> {
  const before = await client.get<T>(type, name);
  await client.delete(type, name);
  const after = await eventually(`${type.kind} ${name} is there again`, async () => {
    const now = await client.get<T>(type, name);
    return now?.metadata.uid === before?.metadata.uid ? undefined : now;
  });
  return { before, after };
}
