import { RuntimeError } from '../errors.ts';
import type { KubeClient } from '../kube/ports.ts';
import type { KubeObject, ResourceType } from '../model/kubernetes.ts';
import { OBJECT_ANNOTATION } from '../names.ts';
import { isOwnedBy } from './decide-owner.ts';
import { unlessTypeGone } from './type-gone.ts';

/**
 * Server-side apply of something that a provider keeps for one object, on a cluster that others use as well. It carries the
 * object's full key and uid as an annotation; one of that name that doesn't is left alone.
 * ```ts
 * await applyOwned(ctx.workload.client, CONFIG_MAPS, { metadata: { name: `foo-${nameUuid(ctx.identity)}`, namespace }, data }, ctx.owner);
 * ```
 * @param owner `ctx.owner`
 * @throws RuntimeError `FOREIGN_OBJECT`, and then nothing was written; ApiError
 */
export async function applyOwned<T extends KubeObject>(
  client: KubeClient,
  type: ResourceType,
  object: T,
  owner: string,
): Promise<T> {
  const { name, namespace, annotations } = object.metadata;
  const found = await client.get(type, name, namespace);
  if (found && !isOwnedBy(owner, found)) throw foreign(type, object);
  const metadata = {
    ...object.metadata,
    annotations: { ...annotations, [OBJECT_ANNOTATION]: owner },
    // Of that very one, should it be replaced meanwhile.
    ...(found?.metadata.uid ? { uid: found.metadata.uid } : {}),
  };
  // One that somebody creates meanwhile is not taken over by force.
  return client.apply<T>(type, { ...object, metadata }, { force: found !== undefined });
}

/**
 * Asks for the deletion of what {@link applyOwned} made. One of that name that is somebody else's is left alone.
 * @returns whether nothing of the owner's is left, where its type is gone as well; somebody's finalizer may hold it for a
 *   while
 */
export async function removeOwned(
  client: KubeClient,
  type: ResourceType,
  { name, namespace }: { readonly name: string; readonly namespace?: string },
  owner: string,
): Promise<boolean> {
  const find = async (): Promise<KubeObject | undefined> => {
    const found = await unlessTypeGone(client, type, client.get(type, name, namespace), undefined);
    return found && isOwnedBy(owner, found) ? found : undefined;
  };
  const found = await find();
  if (!found) return true;
  if (!found.metadata.deletionTimestamp)
    await unlessTypeGone(client, type, client.delete(type, name, { namespace, uid: found.metadata.uid }), false);
  return (await find()) === undefined;
}

function foreign(type: ResourceType, { metadata: { name, namespace } }: KubeObject): RuntimeError {
  const where = namespace === undefined ? name : `${namespace}/${name}`;
  return new RuntimeError(
    'FOREIGN_OBJECT',
    `${type.kind} ${where} was not made for this object, and is left alone: rename or remove it`,
  );
}
