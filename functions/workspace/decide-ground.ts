/** What the runtime sees of a namespace in the workspace; `hidden`: it may not look, since a claim is missing. */
export type NamespaceState = 'there' | 'terminating' | 'absent' | 'hidden';

export interface SeenGround {
  /** The one that holds our ServiceAccount. */
  readonly ours: NamespaceState;
  /** The one that holds the object. */
  readonly objects: NamespaceState;
  /** The workspace's APIBinding is being deleted: so it is when a tenant unbinds, and when the workspace goes. */
  readonly bindingDeleting: boolean;
}

export type Ground =
  /** Access can be made there. */
  | 'there'
  /** Not now, but maybe in a moment. */
  | 'unsettled'
  /** Not any more. */
  | 'leaving';

/**
 * For an object that is being deleted and has no working access: can it still be made? A workspace that is deleted takes
 * its namespaces along while it waits for our finalizer, and would even let us make our own anew, only to delete it
 * again; a tenant who unbinds, or deletes a namespace, leaves the rest as it is.
 */
export function decideGround(seen: SeenGround, deletingForMs: number, patienceMs: number): Ground {
  const gone = (state: NamespaceState): boolean => state === 'terminating' || state === 'absent';
  if (seen.bindingDeleting && gone(seen.ours) && gone(seen.objects)) return 'leaving';
  if (seen.ours === 'there' || seen.ours === 'absent') return 'there';
  return deletingForMs >= patienceMs ? 'leaving' : 'unsettled';
}
