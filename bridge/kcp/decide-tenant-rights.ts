import { CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES } from '../../shared/kube/resources.ts';
import type { PolicyRule } from '../../shared/model/access.ts';
import { equal } from '../../shared/model/json.ts';
import type { KubeObject, ResourceType } from '../../shared/model/kubernetes.ts';
import { RUNTIME_LABEL, shortenName } from '../../shared/names.ts';

/** As kcp calls all users of workspaces that bind an export of this workspace. */
const TENANTS = 'apis.kcp.io:binding:system:authenticated';
const RBAC = 'rbac.authorization.k8s.io';

export interface TenantRight {
  readonly type: ResourceType;
  readonly object: KubeObject & Record<string, unknown>;
}

/**
 * What tenants may do with the provider's type, at most, in the provider workspace: everything but to write its status. In
 * force once the APIExport has a `maximalPermissionPolicy`.
 */
export function tenantRights(provider: string, { group, plural }: { group: string; plural: string }): TenantRight[] {
  const metadata = { name: shortenName(`service-provider-${provider}-tenants`), labels: { [RUNTIME_LABEL]: provider } };
  const rules: PolicyRule[] = [
    { apiGroups: [group], resources: [plural], verbs: ['*'] },
    { apiGroups: [group], resources: [`${plural}/status`], verbs: ['get'] },
  ];
  const subjects = [{ apiGroup: RBAC, kind: 'Group', name: TENANTS }];
  const roleRef = { apiGroup: RBAC, kind: 'ClusterRole', name: metadata.name };
  return [
    { type: CLUSTER_ROLES, object: { metadata, rules } },
    { type: CLUSTER_ROLE_BINDINGS, object: { metadata, subjects, roleRef } },
  ];
}

/** Whether a right is as it has to be; labels are whoever's. */
export function isInForce({ object }: TenantRight, there: KubeObject | undefined): boolean {
  const found = there as (KubeObject & Record<string, unknown>) | undefined;
  return ['rules', 'subjects', 'roleRef'].every((field) => equal(object[field], found?.[field]));
}
