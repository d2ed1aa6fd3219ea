import type { KubeObject } from '../../shared/model/kubernetes.ts';
import { isDeleting } from '../../shared/status.ts';

/**
 * Which object of a workspace that serves none is served next: the oldest, then the one with the smallest uid. Finalizers
 * say nothing, since a tenant can put them anywhere; the one that is served holds the claim (see `claimWorkspace`).
 */
export function winnerOf<T extends KubeObject>(objects: readonly T[]): T | undefined {
  return objects.filter((object) => !isDeleting(object)).sort(byAge)[0];
}

function byAge(a: KubeObject, b: KubeObject): number {
  const age = Date.parse(a.metadata.creationTimestamp ?? '') - Date.parse(b.metadata.creationTimestamp ?? '');
  if (age !== 0 && !Number.isNaN(age)) return age;
  return (a.metadata.uid ?? '') < (b.metadata.uid ?? '') ? -1 : 1;
}
