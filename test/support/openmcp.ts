import type { Condition, KubeObjectOf } from '../../shared/model/kubernetes.ts';

/** The openMCP objects as tests and the cluster provider see them; only the fields that they use. */

export interface ObjectReference {
  name: string;
  namespace: string;
}

interface Status {
  observedGeneration: number;
  phase: string;
  conditions?: Condition[];
}

export type Cluster = KubeObjectOf<{
  spec: { profile: string; purposes?: string[]; tenancy: 'Exclusive' | 'Shared'; kubernetes?: { version?: string } };
  status?: Status & {
    apiServer?: string;
    endpoints?: { name: string; url: string }[];
    providerStatus?: { workspace?: string };
  };
}>;

export type ClusterRequest = KubeObjectOf<{
  spec: { purpose: string; waitForClusterDeletion?: boolean };
  status?: Status & { cluster?: ObjectReference };
}>;

export interface PolicyRule {
  apiGroups?: string[];
  resources?: string[];
  resourceNames?: string[];
  nonResourceURLs?: string[];
  verbs: string[];
}

export interface PermissionsRequest {
  name?: string;
  namespace?: string;
  disableAutomaticNamespaceCreation?: boolean;
  rules: PolicyRule[];
}

export interface RoleRef {
  kind: 'Role' | 'ClusterRole';
  name: string;
  namespace?: string;
}

export type AccessRequest = KubeObjectOf<{
  spec: {
    clusterRef?: ObjectReference;
    requestRef?: ObjectReference;
    token?: { permissions?: PermissionsRequest[]; roleRefs?: RoleRef[] };
    oidc?: object;
    ttl?: string;
  };
  status?: Status & { secretRef?: { name: string } };
}>;

export type Secret = KubeObjectOf<{
  type?: string;
  data?: Record<string, string>;
  stringData?: Record<string, string>;
}>;

export type Workspace = KubeObjectOf<{
  spec?: { cluster?: string; URL?: string; type?: { name: string; path: string } };
  status?: { phase?: string; conditions?: Condition[] };
}>;

export const PROVIDER_LABEL = 'clusters.openmcp.cloud/provider';
export const PROFILE_LABEL = 'clusters.openmcp.cloud/profile';

export const PENDING = 'Pending';
export const GRANTED = 'Granted';
export const DENIED = 'Denied';
