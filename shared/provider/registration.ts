import type { AccessSpec, ObjectReference, OidcSpec } from '../model/access.ts';
import { mcpNamespace, nameUuid } from '../names.ts';
import type { ServiceObjectOf } from './context.ts';

/** Something fixed, or computed anew in each pass from the object, the ProviderConfig and `access.additionalData`. */
export type Computed<Value, Spec, Config, Data> =
  Value | ((object: ServiceObjectOf<Spec>, config: Config, data: Data) => Value);

/** Rights of a token of its own, or, as `{ oidc }`, the login of people through an identity provider. */
export type DeclaredAccess = AccessSpec | { oidc: OidcSpec };

/** Name and namespace of the object that a request is made for. */
export type RequestNamespace = string | ((object: { namespace: string; name: string }) => string);

export interface RegistrationOptions<Spec, Config, Data> {
  /** None: no AccessRequest is made, and one from before is removed. */
  access?: Computed<DeclaredAccess, Spec, Config, Data>;
  /** Last part of the requests' names; default the registration's id. */
  suffix?: string;
  /**
   * Namespace of the requests on the platform cluster; default {@link requestNamespaces.uuid}. It depends on the object's
   * name alone, since a deletion has to find the requests without a ProviderConfig. In kcp mode requests are always in
   * the workspace's tenant namespace.
   */
  namespace?: RequestNamespace;
}

/** Spec of a ClusterRequest. */
export interface ClusterOrder {
  purpose: string;
  waitForClusterDeletion?: boolean;
}

/** One more cluster that a provider needs for each object, beside the end user's and the workload cluster. */
export interface Registration<Spec, Config, Data> extends RegistrationOptions<Spec, Config, Data> {
  readonly cluster:
    | { readonly kind: 'order'; readonly spec: Computed<ClusterOrder, Spec, Config, Data> }
    | { readonly kind: 'request'; readonly reference: Computed<ObjectReference, Spec, Config, Data> }
    | { readonly kind: 'cluster'; readonly reference: Computed<ObjectReference, Spec, Config, Data> };
}

/** A ClusterRequest of its own for each object; removed with it. */
export function newCluster<Spec, Config, Data>(
  options: RegistrationOptions<Spec, Config, Data> & { cluster: Computed<ClusterOrder, Spec, Config, Data> },
): Registration<Spec, Config, Data> {
  const { cluster, ...rest } = options;
  return { ...rest, cluster: { kind: 'order', spec: cluster } };
}

/** The cluster that somebody else's ClusterRequest got. */
export function existingRequest<Spec, Config, Data>(
  options: RegistrationOptions<Spec, Config, Data> & { request: Computed<ObjectReference, Spec, Config, Data> },
): Registration<Spec, Config, Data> {
  const { request, ...rest } = options;
  return { ...rest, cluster: { kind: 'request', reference: request } };
}

/** A Cluster that exists already. */
export function existingCluster<Spec, Config, Data>(
  options: RegistrationOptions<Spec, Config, Data> & { cluster: Computed<ObjectReference, Spec, Config, Data> },
): Registration<Spec, Config, Data> {
  const { cluster, ...rest } = options;
  return { ...rest, cluster: { kind: 'cluster', reference: cluster } };
}

/** The namespace generators of `clusteraccess/advanced`. */
export const requestNamespaces = {
  /** `DefaultNamespaceGenerator`: a UUID of namespace and name. */
  uuid: ({ namespace, name }: { namespace: string; name: string }): string => nameUuid(namespace, name),
  /** `DefaultNamespaceGeneratorForMCP`: the control plane's namespace, where simple access has its requests. */
  mcp: ({ namespace, name }: { namespace: string; name: string }): string => mcpNamespace(name, namespace),
  /** `RequestNamespaceGenerator`: the namespace that the object has on the onboarding cluster. */
  sameAsObject: ({ namespace }: { namespace: string }): string => namespace,
} as const;

/** `IdentityReferenceGenerator`: a request or Cluster named as the object is. */
export function sameAsObject({ metadata }: { metadata: { name: string; namespace?: string } }): ObjectReference {
  return { name: metadata.name, namespace: metadata.namespace ?? '' };
}

/** Labels of an object's requests; see `ManagedLabelGenerator`. Values that are too long end in a hash. */
export interface ManagedLabels {
  /** Default: the controller's name. */
  managedBy?: string;
  /** Default: `<namespace>.<name>.<id>`. */
  managedPurpose?: string;
  /** Further labels, merged into what is there. */
  labels?: Record<string, string>;
}
