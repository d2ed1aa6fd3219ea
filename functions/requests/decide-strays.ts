import type { KubeObject } from '../../shared/model/kubernetes.ts';
import { type ObjectKey, parseObjectKey } from '../../shared/model/object-key.ts';
import {
  MANAGED_BY_LABEL,
  MANAGED_PURPOSE_LABEL,
  OBJECT_ANNOTATION,
  ONBOARDING_NAME_LABEL,
  ONBOARDING_NAMESPACE_LABEL,
  REQUEST_FINALIZER,
  shortenName,
  WANTED_UNDER_ANNOTATION,
} from '../../shared/names.ts';
import type { RequestIdentity } from './desired.ts';

/** A request that a registration made which exists no more. */
export interface Stray {
  readonly kind: 'AccessRequest' | 'ClusterRequest';
  readonly identity: Pick<RequestIdentity, 'name' | 'namespace' | 'ownerLabels'>;
}

/**
 * Pure: which requests were made for the object by registrations that were withdrawn since. AccessRequests come first,
 * since they refer to the others.
 * @param inForce the registrations in force, which are the caller's own. What somebody with others has looked at under them
 * is wanted by who does not lead yet. Undefined: there can be nobody else.
 */
export function decideStrays(
  key: ObjectKey,
  wanted: readonly RequestIdentity[],
  found: { accessRequests: readonly KubeObject[]; clusterRequests: readonly KubeObject[] },
  inForce?: string,
): Stray[] {
  const names = (identities: readonly RequestIdentity[]) =>
    new Set(identities.map(({ namespace, name }) => `${namespace}/${name}`));
  const strays = (kind: Stray['kind'], requests: readonly KubeObject[], kept: Set<string>): Stray[] =>
    requests
      .filter((request) => madeFor(key, request) && !kept.has(`${request.metadata.namespace}/${request.metadata.name}`))
      .filter(({ metadata }) => inForce === undefined || metadata.annotations?.[WANTED_UNDER_ANNOTATION] !== inForce)
      .map(({ metadata: { name, namespace = '', labels = {} } }) => ({
        kind,
        identity: {
          name,
          namespace,
          ownerLabels: {
            [MANAGED_BY_LABEL]: labels[MANAGED_BY_LABEL] ?? '',
            [MANAGED_PURPOSE_LABEL]: labels[MANAGED_PURPOSE_LABEL] ?? '',
          },
        },
      }));
  return [
    ...strays('AccessRequest', found.accessRequests, names(wanted)),
    ...strays('ClusterRequest', found.clusterRequests, names(wanted.filter(({ ordersCluster }) => ordersCluster))),
  ];
}

/** By our annotation; a request that another runtime made, and that was never ours to touch, by its labels. */
function madeFor(key: ObjectKey, { metadata }: KubeObject): boolean {
  const { labels = {}, annotations = {}, finalizers = [] } = metadata;
  if (!finalizers.includes(REQUEST_FINALIZER) || labels[MANAGED_PURPOSE_LABEL] === undefined) return false;
  const annotation = annotations[OBJECT_ANNOTATION];
  if (annotation !== undefined) {
    const owner = parseObjectKey(annotation);
    return (
      owner !== undefined &&
      owner.provider === key.provider &&
      owner.mode === key.mode &&
      owner.cluster === key.cluster &&
      owner.namespace === key.namespace &&
      owner.name === key.name
    );
  }
  return (
    key.mode === 'standard' &&
    labels[ONBOARDING_NAME_LABEL] === shortenName(key.name) &&
    labels[ONBOARDING_NAMESPACE_LABEL] === shortenName(key.namespace)
  );
}
