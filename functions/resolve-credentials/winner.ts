import type { KubeObject } from '../../shared/model/kubernetes.ts';
import { isDeleting } from '../../shared/status.ts';

/**
 * Which object of a workspace that serves none is served next, of which there may be thousands: the oldest, then the one with the smallest uid. Finalizers
 * say nothing, since a tenant can put them anywhere; the one that is served holds the claim (see `claimWorkspace`).
 */
export async function winnerOf<T extends KubeObject>(
  pages: AsyncIterable<{ items: readonly T[] }>,
): Promise<T | undefined> {
  let winner: T | undefined;
  for await (const { items } of pages)
    for (const object of items) if (!isDeleting(object) && (!winner || byAge(object, winner) < 0)) winner = object;
  return winner;
}

function byAge(a: KubeObject, b: KubeObject): number {
  const age = Date.parse(a.metadata.creationTimestamp ?? '') - Date.parse(b.metadata.creationTimestamp ?? '');
  if (age !== 0 && !Number.isNaN(age)) return age;
  return (a.metadata.uid ?? '') < (b.metadata.uid ?? '') ? -1 : 1;
}
