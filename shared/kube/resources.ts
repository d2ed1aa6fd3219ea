import type { ResourceType } from '../model/kubernetes.ts';

function type(group: string, version: string, kind: string, plural: string, namespaced: boolean): ResourceType {
  return { group, version, kind, plural, namespaced };
}

export const NAMESPACES = type('', 'v1', 'Namespace', 'namespaces', false);
export const SECRETS = type('', 'v1', 'Secret', 'secrets', true);
export const CONFIG_MAPS = type('', 'v1', 'ConfigMap', 'configmaps', true);
export const SERVICE_ACCOUNTS = type('', 'v1', 'ServiceAccount', 'serviceaccounts', true);
export const EVENTS = type('', 'v1', 'Event', 'events', true);

const RBAC = 'rbac.authorization.k8s.io';
export const CLUSTER_ROLES = type(RBAC, 'v1', 'ClusterRole', 'clusterroles', false);
export const CLUSTER_ROLE_BINDINGS = type(RBAC, 'v1', 'ClusterRoleBinding', 'clusterrolebindings', false);
export const ROLES = type(RBAC, 'v1', 'Role', 'roles', true);
export const ROLE_BINDINGS = type(RBAC, 'v1', 'RoleBinding', 'rolebindings', true);

export const CRDS = type('apiextensions.k8s.io', 'v1', 'CustomResourceDefinition', 'customresourcedefinitions', false);
export const API_SERVICES = type('apiregistration.k8s.io', 'v1', 'APIService', 'apiservices', false);
export const LEASES = type('coordination.k8s.io', 'v1', 'Lease', 'leases', true);

const CLUSTERS_GROUP = 'clusters.openmcp.cloud';
export const CLUSTERS = type(CLUSTERS_GROUP, 'v1alpha1', 'Cluster', 'clusters', true);
export const CLUSTER_PROFILES = type(CLUSTERS_GROUP, 'v1alpha1', 'ClusterProfile', 'clusterprofiles', false);
export const CLUSTER_REQUESTS = type(CLUSTERS_GROUP, 'v1alpha1', 'ClusterRequest', 'clusterrequests', true);
export const ACCESS_REQUESTS = type(CLUSTERS_GROUP, 'v1alpha1', 'AccessRequest', 'accessrequests', true);

export const SERVICE_PROVIDERS = type('openmcp.cloud', 'v1alpha1', 'ServiceProvider', 'serviceproviders', false);

const KCP_APIS = 'apis.kcp.io';
export const API_EXPORTS = type(KCP_APIS, 'v1alpha2', 'APIExport', 'apiexports', false);
export const API_EXPORT_ENDPOINT_SLICES = type(
  KCP_APIS,
  'v1alpha1',
  'APIExportEndpointSlice',
  'apiexportendpointslices',
  false,
);
export const API_RESOURCE_SCHEMAS = type(KCP_APIS, 'v1alpha1', 'APIResourceSchema', 'apiresourceschemas', false);
export const API_BINDINGS = type(KCP_APIS, 'v1alpha2', 'APIBinding', 'apibindings', false);
export const WORKSPACES = type('tenancy.kcp.io', 'v1alpha1', 'Workspace', 'workspaces', false);
export const LOGICAL_CLUSTERS = type('core.kcp.io', 'v1alpha1', 'LogicalCluster', 'logicalclusters', false);
