import type { KubeObject } from './kubernetes.ts';

/** `rbacv1.PolicyRule`. */
export interface PolicyRule {
  apiGroups?: string[];
  resources?: string[];
  verbs: string[];
  resourceNames?: string[];
  nonResourceURLs?: string[];
}

/** `clusters.openmcp.cloud` PermissionsRequest: a ClusterRole, or with a namespace a Role. */
export interface PermissionsRequest {
  name?: string;
  namespace?: string;
  disableAutomaticNamespaceCreation?: boolean;
  rules: PolicyRule[];
}

export interface RoleRef {
  kind: 'ClusterRole' | 'Role';
  name: string;
  namespace?: string;
}

/** Rights that a provider asks for on a cluster. */
export interface AccessSpec {
  permissions?: PermissionsRequest[];
  roleRefs?: RoleRef[];
}

/** `OIDCConfig` of an AccessRequest: people of an identity provider get access, instead of a token. */
export interface OidcSpec {
  name: string;
  issuer: string;
  clientID: string;
  /** Default `groups`. */
  groupsClaim?: string;
  groupsPrefix?: string;
  /** Default `sub`. */
  usernameClaim?: string;
  usernamePrefix?: string;
  extraScopes?: string[];
  roleBindings: {
    subjects: { kind: 'User' | 'Group' | 'ServiceAccount'; name: string; namespace?: string }[];
    roleRefs: RoleRef[];
  }[];
  /** Roles to be created on the cluster. */
  roles?: PermissionsRequest[];
}

/** How an AccessRequest gives access: exactly one of the two. */
export type AccessMethod = { readonly token: AccessSpec } | { readonly oidc: OidcSpec };

/** A permission claim of a kcp APIExport. kcp takes verbs literally, so they are listed one by one. */
export interface PermissionClaim {
  group?: string;
  resource: string;
  verbs: string[];
  identityHash?: string;
}

export interface ObjectReference {
  name: string;
  namespace: string;
}

/** Phases of ClusterRequests and AccessRequests. */
export type RequestPhase = 'Pending' | 'Granted' | 'Denied';

interface RequestStatus {
  phase?: RequestPhase | '';
  observedGeneration?: number;
  conditions?: { type: string; status: string; reason?: string; message?: string }[];
}

export interface ClusterRequest extends KubeObject {
  spec: { purpose: string; waitForClusterDeletion?: boolean };
  status?: RequestStatus & { cluster?: ObjectReference };
}

export interface AccessRequest extends KubeObject {
  spec: {
    clusterRef?: ObjectReference;
    requestRef?: ObjectReference;
    token?: AccessSpec;
    oidc?: OidcSpec;
  };
  status?: RequestStatus & { secretRef?: { name: string } };
}

export interface Secret extends KubeObject {
  type?: string;
  immutable?: boolean;
  /** Base64. */
  data?: Record<string, string>;
  stringData?: Record<string, string>;
}
