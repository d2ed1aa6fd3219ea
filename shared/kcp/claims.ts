import type { PermissionClaim } from '../model/access.ts';

/** kcp takes the verbs of a claim literally: `*` on one side and a list on the other allows nothing. */
export const CLAIM_VERBS = ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete'] as const;

const claim = (group: string, resource: string): PermissionClaim => ({ group, resource, verbs: [...CLAIM_VERBS] });

/**
 * What the runtime itself needs in a tenant's workspace: a namespace of its own with a ServiceAccount, the Secret through
 * which that gets its first token, and its rights. `PermissionClaim.group` is always set, `''` for the core group.
 */
export const RUNTIME_CLAIMS: readonly PermissionClaim[] = [
  claim('', 'namespaces'),
  claim('', 'secrets'),
  claim('', 'serviceaccounts'),
  claim('rbac.authorization.k8s.io', 'clusterroles'),
  claim('rbac.authorization.k8s.io', 'clusterrolebindings'),
  claim('rbac.authorization.k8s.io', 'roles'),
  claim('rbac.authorization.k8s.io', 'rolebindings'),
];

/** kcp's key of a claim is group and resource. */
export function claimName({ group = '', resource }: Pick<PermissionClaim, 'group' | 'resource'>): string {
  return group === '' ? resource : `${resource}.${group}`;
}
