import {
  managedLabels,
  mcpNamespace,
  ONBOARDING_NAME_LABEL,
  ONBOARDING_NAMESPACE_LABEL,
  requestName,
  shortenName,
  workspaceNamespace,
} from '../../shared/names.ts';
import type { AccessSpec, ObjectReference } from '../../shared/model/access.ts';
import type { ObjectKey } from '../../shared/model/object-key.ts';
import type { Provider } from '../provider.ts';

/** An AccessRequest that an object needs, with the ClusterRequest that it refers to. */
export interface DesiredRequest {
  readonly id: 'mcp' | 'workload';
  readonly namespace: string;
  readonly name: string;
  /** These mean ownership. */
  readonly ownerLabels: Readonly<Record<string, string>>;
  /** These are merged into what is there. */
  readonly extraLabels: Readonly<Record<string, string>>;
  readonly access: AccessSpec;
  /** `order`: a ClusterRequest of ours, named like the AccessRequest. `existing`: somebody else's. */
  readonly cluster:
    | { readonly kind: 'order'; readonly purpose: string }
    | { readonly kind: 'existing'; readonly request: ObjectReference };
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

function desired(
  key: ObjectKey,
  provider: Provider,
  id: DesiredRequest['id'],
  suffix: string,
  access: AccessSpec,
  cluster: DesiredRequest['cluster'],
): DesiredRequest {
  return {
    id,
    namespace: tenantNamespace(key),
    name: requestName(provider.controllerName, key.name, suffix),
    ownerLabels: managedLabels(provider.controllerName, key, id),
    extraLabels: key.mode === 'standard' ? onboardingLabels(key) : {},
    access,
    cluster,
  };
}

/** The Go library does not shorten them, and such an object then gets no request at all: a label ends at 63 characters. */
function onboardingLabels(key: ObjectKey): Record<string, string> {
  return { [ONBOARDING_NAME_LABEL]: shortenName(key.name), [ONBOARDING_NAMESPACE_LABEL]: shortenName(key.namespace) };
}

/** Access to the control plane, by its ClusterRequest that the platform has made already. Standard mode only. */
export function desiredMcpRequest(key: ObjectKey, provider: Provider, access: AccessSpec): DesiredRequest {
  const request = { name: key.name, namespace: mcpNamespace(key.name, key.namespace) };
  return desired(key, provider, 'mcp', 'mcp', access, { kind: 'existing', request });
}

/** A workload cluster and access to it; the cluster may be shared with other tenants. */
export function desiredWorkloadRequest(key: ObjectKey, provider: Provider, access: AccessSpec): DesiredRequest {
  return desired(key, provider, 'workload', 'wl', access, { kind: 'order', purpose: 'workload' });
}
