import type { KubeObject, ResourceType } from '../model/kubernetes.ts';
import { isAlreadyExists, isGone } from './api-error.ts';
import type { KubeClient } from './ports.ts';
import { NAMESPACES } from './resources.ts';

/** Creates an object, and its namespace where that does not exist. Rejects as {@link KubeClient.create} does. */
export async function createWithNamespace<T extends KubeObject>(
  client: KubeClient,
  type: ResourceType,
  object: T,
): Promise<T> {
  try {
    return await client.create(type, object);
  } catch (error) {
    const { namespace } = object.metadata;
    if (namespace === undefined || !isGone(error, namespace)) throw error;
    await client.apply(NAMESPACES, { metadata: { name: namespace } });
    return client.create(type, object);
  }
}

/**
 * As {@link createWithNamespace}, but what another process created meanwhile is taken as it is: whose it is, and whether
 * it is right, is for the caller to look at. Undefined when that is gone again.
 */
export async function createOrGet<T extends KubeObject>(
  client: KubeClient,
  type: ResourceType,
  object: T,
): Promise<T | undefined> {
  try {
    return await createWithNamespace(client, type, object);
  } catch (error) {
    if (isAlreadyExists(error)) return client.get<T>(type, object.metadata.name, object.metadata.namespace);
    throw error;
  }
}
