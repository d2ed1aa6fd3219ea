import { isConflict, isNotFound } from '../../../shared/kube/api-error.ts';
import type { KubeClient } from '../../../shared/kube/ports.ts';
import type { KubeObject, ObjectMeta, ResourceType } from '../../../shared/model/kubernetes.ts';

/**
 * Adds our finalizer, with further metadata in the same write. Others' finalizers stay, since the write fails when the
 * object has changed since it was read.
 */
export async function addFinalizer<T extends KubeObject>(
  client: KubeClient,
  type: ResourceType,
  object: T,
  finalizer: string,
  metadata: Pick<ObjectMeta, 'labels'> = {},
): Promise<T> {
  const { name, namespace, resourceVersion, finalizers = [] } = object.metadata;
  const patch = { metadata: { ...metadata, resourceVersion, finalizers: [...finalizers, finalizer] } };
  return client.mergePatch<T>(type, name, patch, { namespace });
}

/** Takes our finalizer off and leaves all others, however often the object changes meanwhile. */
export async function removeFinalizer(
  client: KubeClient,
  type: ResourceType,
  object: KubeObject,
  finalizer: string,
): Promise<void> {
  const { name, namespace, uid } = object.metadata;
  for (let current: KubeObject | undefined = object; current?.metadata.uid === uid;) {
    const { resourceVersion, finalizers = [] } = current?.metadata ?? {};
    if (!finalizers.includes(finalizer)) return;
    try {
      const kept = finalizers.filter((other) => other !== finalizer);
      await client.mergePatch(type, name, { metadata: { resourceVersion, finalizers: kept } }, { namespace });
      return;
    } catch (error) {
      if (!isConflict(error) && !isNotFound(error)) throw error;
      current = await client.get(type, name, namespace);
    }
  }
}
