import type { AccessMethod, ObjectReference } from '../../shared/model/access.ts';
import type { ObjectKey } from '../../shared/model/object-key.ts';
import {
  MANAGED_BY_LABEL,
  MANAGED_PURPOSE_LABEL,
  managedLabels,
  mcpNamespace,
  nameHash,
  ONBOARDING_NAME_LABEL,
  ONBOARDING_NAMESPACE_LABEL,
  requestName,
  shortenName,
  workspaceNamespace,
} from '../../shared/names.ts';
import type { Provider } from '../../shared/provider/provider.ts';
import type { SecretReference } from '../step/verdict.ts';
import { requestNamespaces, type RequestNamespace } from '../../shared/provider/registration.ts';

/** What leads to the requests of one registration; depends on nothing but the object's name and the provider. */
export interface RequestIdentity {
  /** `mcp`, `workload`, or the id of a registration. */
  readonly id: string;
  readonly namespace: string;
  readonly name: string;
  /** These mean ownership. */
  readonly ownerLabels: Readonly<Record<string, string>>;
  /** These are merged into what is there. */
  readonly extraLabels: Readonly<Record<string, string>>;
  /** Whether a ClusterRequest of ours of the same name belongs to it. */
  readonly ordersCluster: boolean;
}

/** What is remembered of an object's registrations. */
export interface RememberedRegistrations {
  /** Of all of them. */
  readonly fingerprint: string;
  /**
   * Those that labels in the tenant namespace would not lead to once they are withdrawn: in a namespace of their own, or
   * under another owner's label. `<namespace>/<name>`, with `*` for one of each kind.
   */
  readonly hidden: readonly string[];
}

/** Pure: what is to be remembered of all registrations of an object. */
export function registrationsOf(
  key: ObjectKey,
  provider: Provider,
  identities: readonly RequestIdentity[],
): RememberedRegistrations {
  const home = tenantNamespace(key);
  const owner = shortenName(provider.controllerName);
  return {
    fingerprint: nameHash(
      ...identities.map(({ namespace, name, ordersCluster }) => `${namespace}/${name}/${ordersCluster}`),
    ),
    hidden: identities
      .filter(({ namespace, ownerLabels }) => namespace !== home || ownerLabels[MANAGED_BY_LABEL] !== owner)
      .map(({ namespace, name, ordersCluster }) => `${namespace}/${name}${ordersCluster ? '*' : ''}`),
  };
}

/** An AccessRequest that an object needs, with the cluster that it refers to. */
export interface DesiredRequest extends RequestIdentity {
  /** On the first request of an object only. `fresh`: nothing was ever installed, so nothing can have been withdrawn. */
  readonly registrations?: {
    readonly fingerprint: string;
    readonly hidden: readonly string[];
    readonly fresh: boolean;
  };
  /** The registrations in force, where the ProviderConfig says so. */
  readonly wantedUnder?: string | undefined;
  /** What is not wanted here may be wanted by who leads. */
  readonly keep?: boolean;
  /** Undefined: no AccessRequest is wanted, and one from before is removed. */
  readonly access: AccessMethod | undefined;
  readonly cluster:
    /** A ClusterRequest of ours, named like the AccessRequest. */
    | { readonly kind: 'order'; readonly spec: { purpose: string; waitForClusterDeletion?: boolean } }
    /** Somebody else's ClusterRequest. */
    | { readonly kind: 'request'; readonly reference: ObjectReference }
    | { readonly kind: 'cluster'; readonly reference: ObjectReference };
}

/** The tenant's namespace on the platform cluster. */
export function tenantNamespace(key: ObjectKey): string {
  return key.mode === 'standard'
    ? mcpNamespace(key.name, key.namespace)
    : workspaceNamespace(key.provider, key.cluster);
}

/** Stable for a tenant: the control plane's object key, or the logical cluster's name. */
export function identityOf(key: ObjectKey): string {
  return key.mode === 'standard' ? `${key.namespace}/${key.name}` : key.cluster;
}

/** All registrations of a provider for an object, in the order in which access is ordered. */
export function requestIdentities(key: ObjectKey, provider: Provider): RequestIdentity[] {
  const { clusters } = provider.access;
  return [
    ...(key.mode === 'standard' ? [identity(key, provider, 'mcp', 'mcp', requestNamespaces.mcp, false)] : []),
    ...(provider.workloadCluster ? [identity(key, provider, 'workload', 'wl', requestNamespaces.mcp, true)] : []),
    ...Object.entries(clusters).map(([id, { suffix = id, namespace = requestNamespaces.uuid, cluster }]) =>
      identity(key, provider, id, suffix, namespace, cluster.kind === 'order'),
    ),
  ];
}

/** Access to the control plane, by its ClusterRequest that the platform has made already. Standard mode only. */
export function desiredMcpRequest(key: ObjectKey, provider: Provider, access: AccessMethod): DesiredRequest {
  const reference = { name: key.name, namespace: mcpNamespace(key.name, key.namespace) };
  return {
    ...identity(key, provider, 'mcp', 'mcp', requestNamespaces.mcp, false),
    access,
    cluster: { kind: 'request', reference },
  };
}

/** A workload cluster and access to it; the cluster may be shared with other tenants. */
export function desiredWorkloadRequest(key: ObjectKey, provider: Provider, access: AccessMethod): DesiredRequest {
  return {
    ...identity(key, provider, 'workload', 'wl', requestNamespaces.mcp, true),
    access,
    cluster: { kind: 'order', spec: { purpose: 'workload' } },
  };
}

function identity(
  key: ObjectKey,
  provider: Provider,
  id: string,
  suffix: string,
  namespace: RequestNamespace,
  ordersCluster: boolean,
): RequestIdentity {
  const inStandard = typeof namespace === 'string' ? namespace : namespace(key);
  const { managedBy, managedPurpose, labels = {} } = provider.access.labels?.(key, id) ?? {};
  return {
    id,
    namespace: key.mode === 'standard' ? inStandard : tenantNamespace(key),
    name: requestName(provider.controllerName, key.name, suffix),
    ownerLabels: {
      ...managedLabels(provider.controllerName, key, id),
      ...(managedBy === undefined ? {} : { [MANAGED_BY_LABEL]: shortenName(managedBy) }),
      ...(managedPurpose === undefined ? {} : { [MANAGED_PURPOSE_LABEL]: shortenName(managedPurpose) }),
    },
    extraLabels: {
      ...(key.mode === 'standard' ? onboardingLabels(key) : {}),
      ...Object.fromEntries(Object.entries(labels).map(([name, value]) => [name, shortenName(value)])),
    },
    ordersCluster,
  };
}

/** The Go library does not shorten them, and such an object then gets no request at all: a label ends at 63 characters. */
function onboardingLabels(key: ObjectKey): Record<string, string> {
  return { [ONBOARDING_NAME_LABEL]: shortenName(key.name), [ONBOARDING_NAMESPACE_LABEL]: shortenName(key.namespace) };
}

/** Where the kubeconfig of a workspace lies on the platform cluster. One a provider and workspace. */
export function workspaceSecret(run: {
  readonly provider: Provider;
  readonly tenantNamespace: string;
}): SecretReference {
  return {
    name: requestName(run.provider.controllerName, 'workspace', 'mcp'),
    namespace: run.tenantNamespace,
    key: 'kubeconfig',
  };
}
