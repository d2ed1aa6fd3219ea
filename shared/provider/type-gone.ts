import { isDenied, isNotFound } from '../kube/api-error.ts';
import type { KubeClient } from '../kube/ports.ts';
import { API_BINDINGS, API_SERVICES, CRDS } from '../kube/resources.ts';
import type { KubeObjectOf, ResourceType } from '../model/kubernetes.ts';

type ApiService = KubeObjectOf<{ spec?: { service?: object | null } }>;
type ApiBinding = KubeObjectOf<{ status?: { boundResources?: { group: string; resource: string }[] } }>;

/**
 * Whether a cluster that does not serve a type has no such type, and so no object of it. A version that is not served (any
 * more), an API server behind it that is away, an APIBinding that is not ready: all of them are no answer, and what was made
 * of the type may still be there.
 * @throws ApiError where that may not be read: needed is the right to get the CustomResourceDefinition of that name, and in a
 *   kcp workspace to list APIBindings
 */
export async function isTypeGone(client: KubeClient, type: ResourceType): Promise<boolean> {
  // Groups without a dot are Kubernetes' own.
  if (!type.group.includes('.')) return false;
  if (await client.get(CRDS, `${type.plural}.${type.group}`)) return false;
  if (await isAggregated(client, type)) return false;
  return !(await isBound(client, type));
}

/** Served by an API server of its own. */
async function isAggregated(client: KubeClient, { version, group }: ResourceType): Promise<boolean> {
  try {
    const found = await client.get<ApiService>(API_SERVICES, `${version}.${group}`);
    return Boolean(found?.spec?.service);
  } catch (error) {
    // kcp has none of these; and while such a server is away, the answer is not that the type is not there.
    if (isNotFound(error) || isDenied(error)) return false;
    throw error;
  }
}

/** In a kcp workspace a type comes by an APIBinding as well. */
async function isBound(client: KubeClient, { group, plural }: ResourceType): Promise<boolean> {
  if (!/\/clusters\/[^/]+$/.test(client.server)) return false;
  const { items } = await client.list<ApiBinding>(API_BINDINGS);
  return items.some(({ status }) =>
    (status?.boundResources ?? []).some((bound) => bound.group === group && bound.resource === plural),
  );
}

/** The same answer as of an empty list, where a type is gone. @throws the error itself where it is not */
export async function unlessTypeGone<T>(
  client: KubeClient,
  type: ResourceType,
  attempt: Promise<T>,
  gone: T,
): Promise<T> {
  try {
    return await attempt;
  } catch (error) {
    if (isNotFound(error) && (await isTypeGone(client, type))) return gone;
    throw error;
  }
}

/**
 * A client for a deletion: what was installed may have taken its type along, or somebody has. Then there is nothing to be
 * found and nothing to be deleted. Writes fail as ever.
 */
export function withoutGoneTypes(client: KubeClient): KubeClient {
  const readers: Partial<KubeClient> = {
    get: (type, name, namespace) => unlessTypeGone(client, type, client.get(type, name, namespace), undefined),
    list: (type, options) => unlessTypeGone(client, type, client.list(type, options), { metadata: {}, items: [] }),
    delete: (type, name, options) => unlessTypeGone(client, type, client.delete(type, name, options), false),
  };
  return new Proxy(client, {
    get(target, name) {
      const value: unknown = readers[name as keyof KubeClient] ?? Reflect.get(target, name, target);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
}
