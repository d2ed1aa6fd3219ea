import { hasFinalizer } from '../../shared/finalizers.ts';
import type { KubeObject } from '../../shared/model/kubernetes.ts';
import { isDeleting } from '../../shared/status.ts';

/**
 * Which of a workspace's objects is served: oldest wins. One that carries our finalizer has been served already and
 * stays the winner, also while it is being deleted. Among the others the oldest, then the smallest
 * uid. Computed from a list and nothing else, so a restart or a wiped queue changes nothing.
 */
export function winnerOf<T extends KubeObject>(objects: readonly T[], finalizer: string): T | undefined {
  const held = objects.filter((object) => hasFinalizer(object, finalizer));
  const candidates = held.length > 0 ? held : objects.filter((object) => !isDeleting(object));
  return [...candidates].sort(byAge)[0];
}

function byAge(a: KubeObject, b: KubeObject): number {
  const age = Date.parse(a.metadata.creationTimestamp ?? '') - Date.parse(b.metadata.creationTimestamp ?? '');
  if (age !== 0 && !Number.isNaN(age)) return age;
  return (a.metadata.uid ?? '') < (b.metadata.uid ?? '') ? -1 : 1;
}
