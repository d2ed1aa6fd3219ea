import { type ObjectKey, parseObjectKey } from '../model/object-key.ts';
import type { KubeObject } from '../model/kubernetes.ts';
import { OBJECT_ANNOTATION } from '../names.ts';

/**
 * Pure: whether something was made for the object that is the owner, or for an earlier one of the same tenant's under that
 * name, which left it behind. Only our annotation tells; a name can be anybody's.
 * @param owner as `ctx.owner`
 */
export function isOwnedBy(owner: string, { metadata }: KubeObject): boolean {
  const marked = metadata.annotations?.[OBJECT_ANNOTATION];
  if (marked === owner) return true;
  const [theirs, ours] = [parseObjectKey(marked ?? ''), parseObjectKey(owner)];
  const place = ({ provider, mode, cluster, namespace, name }: ObjectKey): string =>
    JSON.stringify([provider, mode, cluster, namespace, name]);
  return theirs !== undefined && ours !== undefined && place(theirs) === place(ours);
}
