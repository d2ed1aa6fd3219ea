import { createHash } from 'node:crypto';
import {
  CLUSTER_ROLE_BINDINGS,
  CLUSTER_ROLES,
  NAMESPACES,
  ROLE_BINDINGS,
  ROLES,
  SECRETS,
  SERVICE_ACCOUNTS,
} from '../../shared/kube/resources.ts';
import type { AccessSpec, PermissionsRequest, PolicyRule, RoleRef } from '../../shared/model/access.ts';
import type { KubeObject, ResourceType } from '../../shared/model/kubernetes.ts';
import { nameHash, requestName, RUNTIME_LABEL, shortenName } from '../../shared/names.ts';
import type { Run } from '../step/run.ts';
import type { SecretReference } from '../step/verdict.ts';

/** An object in the tenant's workspace that gives the provider access to it. */
export interface WorkspaceObject {
  readonly type: ResourceType;
  readonly object: KubeObject & Record<string, unknown>;
}

/** Names of what one provider has in a workspace. */
export function workspaceNames(provider: string) {
  const base = shortenName(`service-provider-${provider}`, 50);
  return {
    namespace: base,
    serviceAccount: base,
    bootstrapSecret: `${base}-bootstrap`,
    tokenRole: `${base}-token`,
    role: (index: number) => `${base}-access-${index}`,
    reference: (ref: RoleRef) => `${base}-ref-${nameHash(ref.kind, ref.name)}`,
  };
}

/**
 * Everything that a ServiceAccount with the provider's permissions needs: it may enter the workspace, do what the
 * provider declares, and ask for tokens of itself, since subresources are not served by the virtual workspace. In the
 * order in which it has to be created.
 */
export function workspaceObjects(provider: string, access: AccessSpec): WorkspaceObject[] {
  const names = workspaceNames(provider);
  const labels = { [RUNTIME_LABEL]: provider };
  const subjects = [{ kind: 'ServiceAccount', name: names.serviceAccount, namespace: names.namespace }];
  const entry = (type: ResourceType, name: string, fields: Record<string, unknown>, namespace?: string) => ({
    type,
    object: { metadata: { name, labels, ...(namespace ? { namespace } : {}) }, ...fields },
  });
  const role = (name: string, rules: PolicyRule[], namespace?: string): WorkspaceObject[] => [
    entry(namespace ? ROLES : CLUSTER_ROLES, name, { rules }, namespace),
    binding(name, { kind: namespace ? 'Role' : 'ClusterRole', name, ...(namespace ? { namespace } : {}) }),
  ];
  const binding = (name: string, ref: RoleRef): WorkspaceObject =>
    entry(
      ref.namespace ? ROLE_BINDINGS : CLUSTER_ROLE_BINDINGS,
      name,
      { subjects, roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: ref.kind, name: ref.name } },
      ref.namespace,
    );
  const permissions = access.permissions ?? [];
  return [
    entry(NAMESPACES, names.namespace, {}),
    ...[...new Set(permissions.flatMap(namespaceToCreate))].map((name) => entry(NAMESPACES, name, {})),
    entry(SERVICE_ACCOUNTS, names.serviceAccount, {}, names.namespace),
    ...role(names.tokenRole, [
      { nonResourceURLs: ['/'], verbs: ['access'] },
      {
        apiGroups: [''],
        resources: ['serviceaccounts/token'],
        resourceNames: [names.serviceAccount],
        verbs: ['create'],
      },
    ]),
    ...permissions.flatMap(({ rules, namespace, name }, index) => role(name ?? names.role(index), rules, namespace)),
    // A binding can't be moved to another role: another reference is another binding.
    ...(access.roleRefs ?? []).map((ref) => binding(names.reference(ref), ref)),
  ];
}

/** What can be created at once: namespaces, then what lies in them and the roles, then bindings of what is there. */
export function inWaves(objects: readonly WorkspaceObject[]): WorkspaceObject[][] {
  const wave = ({ type }: WorkspaceObject): number =>
    type === NAMESPACES ? 0 : type === ROLE_BINDINGS || type === CLUSTER_ROLE_BINDINGS ? 2 : 1;
  return [0, 1, 2].map((index) => objects.filter((each) => wave(each) === index));
}

function namespaceToCreate({ namespace, disableAutomaticNamespaceCreation }: PermissionsRequest): string[] {
  return namespace === undefined || disableAutomaticNamespaceCreation ? [] : [namespace];
}

/** kcp fills it with a token that lives long enough to ask for a proper one. */
export function bootstrapSecret(provider: string): WorkspaceObject {
  const names = workspaceNames(provider);
  return {
    type: SECRETS,
    object: {
      metadata: {
        name: names.bootstrapSecret,
        namespace: names.namespace,
        labels: { [RUNTIME_LABEL]: provider },
        annotations: { 'kubernetes.io/service-account.name': names.serviceAccount },
      },
      type: 'kubernetes.io/service-account-token',
    },
  };
}

/** Changes exactly when what is created in the workspace changes. */
export function permissionsHash(provider: string, access: AccessSpec): string {
  return createHash('sha256')
    .update(JSON.stringify(workspaceObjects(provider, access)))
    .digest('hex')
    .slice(0, 16);
}

/** Where the kubeconfig of a workspace lies on the platform cluster. One a provider and workspace. */
export function workspaceSecret(run: Pick<Run, 'provider' | 'tenantNamespace'>): SecretReference {
  return {
    name: requestName(run.provider.controllerName, 'workspace', 'mcp'),
    namespace: run.tenantNamespace,
    key: 'kubeconfig',
  };
}
