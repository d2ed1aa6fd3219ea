import type { KubeObject, ResourceType } from '../../shared/model/kubernetes.ts';
import { type ObjectKey, ONBOARDING_CLUSTER, parseObjectKey } from '../../shared/model/object-key.ts';
import {
  MANAGED_PURPOSE_LABEL,
  mcpNamespace,
  OBJECT_ANNOTATION,
  ONBOARDING_NAME_LABEL,
  ONBOARDING_NAMESPACE_LABEL,
} from '../../shared/names.ts';

/** Pure: whose something on the platform cluster is, and what becomes of it. */

export interface Owned {
  readonly type: ResourceType;
  readonly object: KubeObject;
  /** Undefined where it can't be told; then it is left alone. The uid is empty where only the name is known. */
  readonly key: ObjectKey | undefined;
}

/** What an authorised read has shown. */
export type Presence =
  { readonly state: 'present' } | { readonly state: 'absent' } | { readonly state: 'unknown'; readonly why: string };

export type OrphanVerdict =
  | { readonly verdict: 'in-use' }
  | { readonly verdict: 'orphan' }
  /** "Cannot read" is never "deleted". */
  | { readonly verdict: 'unknown'; readonly why: string };

/**
 * The object that something was made for: by our annotation, or by the labels of the Go libraries where the namespace
 * proves that they are not shortened.
 * @returns `'not-ours'` for what belongs to no object, or to another provider
 */
export function ownerKey(provider: string, { metadata }: KubeObject): ObjectKey | undefined | 'not-ours' {
  const annotation = metadata.annotations?.[OBJECT_ANNOTATION];
  const annotated = annotation === undefined ? undefined : parseObjectKey(annotation);
  if (annotated) return annotated.provider === provider ? annotated : 'not-ours';
  const name = metadata.labels?.[ONBOARDING_NAME_LABEL];
  const namespace = metadata.labels?.[ONBOARDING_NAMESPACE_LABEL];
  if (name !== undefined && namespace !== undefined)
    return mcpNamespace(name, namespace) === metadata.namespace
      ? { provider, mode: 'standard', cluster: ONBOARDING_CLUSTER, namespace, name, uid: '' }
      : undefined;
  // Without a purpose it is the provider's own, such as its access to the onboarding cluster.
  return metadata.labels?.[MANAGED_PURPOSE_LABEL] === undefined ? 'not-ours' : undefined;
}

export function orphanVerdict(owned: Owned, presence: Presence): OrphanVerdict {
  if (!owned.key) return { verdict: 'unknown', why: 'its labels and annotations do not tell which object it is for' };
  if (presence.state === 'unknown') return { verdict: 'unknown', why: presence.why };
  return { verdict: presence.state === 'absent' ? 'orphan' : 'in-use' };
}

/** A namespace after what is in it, a cluster after the access to it. */
export function inRemovalOrder<T extends Pick<Owned, 'type'>>(owned: readonly T[]): T[] {
  const order = ['AccessRequest', 'ClusterRequest', 'Secret', 'ConfigMap', 'Namespace'];
  return [...owned].sort((a, b) => order.indexOf(a.type.kind) - order.indexOf(b.type.kind));
}
