import { createHash } from 'node:crypto';
import { CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, ROLE_BINDINGS, ROLES } from '../../../shared/kube/resources.ts';
import type { AccessRequest, PermissionsRequest, PolicyRule, RoleRef } from '../../../shared/model/access.ts';
import type { KubeObject, KubeObjectOf, ResourceType } from '../../../shared/model/kubernetes.ts';

/** Namespace of the ServiceAccounts in every cluster that we provide. */
export const ACCESS_NAMESPACE = 'accessrequests';
/** On all that we make in a cluster for one AccessRequest; its value is that request's uid. */
export const REQUEST_UID_LABEL = 'kcp.clusters.openmcp.cloud/access-request';

type RbacObject = KubeObjectOf<{ rules?: PolicyRule[]; roleRef?: object; subjects?: object[] }>;

export interface Rights {
  /** Namespaces that the asked Roles need and that may be created. */
  namespaces: string[];
  objects: { type: ResourceType; object: RbacObject }[];
}

export function serviceAccountName(request: AccessRequest): string {
  return `access-${request.metadata.uid}`;
}

/** The roles and bindings that give a request's ServiceAccount exactly what was asked; no I/O. */
export function rightsOf(request: AccessRequest): Rights {
  const { permissions = [], roleRefs = [] } = request.spec.token ?? {};
  const account = serviceAccountName(request);
  const labels = { [REQUEST_UID_LABEL]: request.metadata.uid ?? '' };
  const subjects = [{ kind: 'ServiceAccount', name: account, namespace: ACCESS_NAMESPACE }];

  const roles = permissions.map((permission, index) => {
    const { namespace, rules } = permission;
    const name = permission.name || `${account}-${index}`;
    return { type: namespace ? ROLES : CLUSTER_ROLES, object: { metadata: metadata(name, namespace, labels), rules } };
  });
  const references: RoleRef[] = [
    ...roles.map(
      ({
        object: {
          metadata: { name, namespace },
        },
      }): RoleRef => (namespace ? { kind: 'Role', name, namespace } : { kind: 'ClusterRole', name }),
    ),
    ...roleRefs,
  ];
  const bindings = references.map(({ kind, name, namespace }) => ({
    type: namespace ? ROLE_BINDINGS : CLUSTER_ROLE_BINDINGS,
    object: {
      metadata: metadata(`${account}-${shortHash(kind, name)}`, namespace, labels),
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind, name },
      subjects,
    },
  }));
  return { namespaces: namespacesToCreate(permissions), objects: [...roles, ...bindings] };
}

function namespacesToCreate(permissions: readonly PermissionsRequest[]): string[] {
  const wanted = permissions.filter((one) => one.namespace && !one.disableAutomaticNamespaceCreation);
  return [...new Set(wanted.map((one) => one.namespace as string))];
}

function metadata(name: string, namespace: string | undefined, labels: Record<string, string>): KubeObject['metadata'] {
  return { name, labels, ...(namespace ? { namespace } : {}) };
}

/** A binding's role can't be changed, so another role is another binding. */
function shortHash(...parts: string[]): string {
  return createHash('sha256').update(parts.join('/')).digest('hex').slice(0, 8);
}
