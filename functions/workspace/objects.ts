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
import { nameHash, RUNTIME_LABEL, shortenName } from '../../shared/names.ts';

/** An object in the tenant's workspace that gives the provider access to it. */
export interface WorkspaceObject {
  readonly type: ResourceType;
  readonly object: KubeObject & Record<string, unknown>;
  /** Somebody else's object of that name serves as well; it is used as it is, and stays. */
  readonly anybodys?: true;
}

/** Names of what one provider has in a workspace. */
export function workspaceNames(provider: string) {
  const base = shortenName(`service-provider-${provider}`, 50);
  return {
    namespace: base,
    /** The identity of workloads. */
    serviceAccount: base,
    /** The identity that makes tokens of the other; no workload sees a token of its own. */
    issuer: `${base}-issuer`,
    bootstrapSecret: (suffix: string) => `${base}-bootstrap-${suffix}`,
    /** A token is good for as long as its Secret exists. */
    tokenSecret: (suffix: string) => `${base}-token-${suffix}`,
    issuerRole: `${base}-issuer`,
    enterRole: `${base}-enter`,
    role: (index: number) => `${base}-access-${index}`,
    reference: (ref: RoleRef) => `${base}-ref-${nameHash(ref.kind, ref.name)}`,
  };
}

/**
 * Everything that access with the provider's permissions needs: a ServiceAccount that may enter the workspace and do what
 * the provider declares, and another that may do nothing but make tokens of the first. In the order in which it has to be
 * created.
 */
export function workspaceObjects(provider: string, access: AccessSpec): WorkspaceObject[] {
  const names = workspaceNames(provider);
  const labels = { [RUNTIME_LABEL]: provider };
  const account = (name: string) => ({ kind: 'ServiceAccount', name, namespace: names.namespace });
  const workload = [account(names.serviceAccount)];
  const entry = (type: ResourceType, name: string, fields: Record<string, unknown>, namespace?: string) => ({
    type,
    object: { metadata: { name, labels, ...(namespace ? { namespace } : {}) }, ...fields },
  });
  const role = (name: string, rules: PolicyRule[], namespace?: string, subjects = workload): WorkspaceObject[] => [
    entry(namespace ? ROLES : CLUSTER_ROLES, name, { rules }, namespace),
    binding(name, { kind: namespace ? 'Role' : 'ClusterRole', name, ...(namespace ? { namespace } : {}) }, subjects),
  ];
  const binding = (name: string, ref: RoleRef, subjects = workload): WorkspaceObject =>
    entry(
      ref.namespace ? ROLE_BINDINGS : CLUSTER_ROLE_BINDINGS,
      name,
      { subjects, roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: ref.kind, name: ref.name } },
      ref.namespace,
    );
  const permissions = access.permissions ?? [];
  const minting = {
    apiGroups: [''],
    resources: ['serviceaccounts/token'],
    resourceNames: [names.serviceAccount],
    verbs: ['create'],
  };
  const entering = { nonResourceURLs: ['/'], verbs: ['access'] };
  return [
    entry(NAMESPACES, names.namespace, {}),
    ...[...new Set(permissions.flatMap(namespaceToCreate))].map((name) => ({
      ...entry(NAMESPACES, name, {}),
      anybodys: true as const,
    })),
    entry(SERVICE_ACCOUNTS, names.serviceAccount, {}, names.namespace),
    entry(SERVICE_ACCOUNTS, names.issuer, {}, names.namespace),
    ...role(names.issuerRole, [minting], names.namespace, [account(names.issuer)]),
    ...permissions.flatMap(({ rules, namespace, name }, index) => role(name ?? names.role(index), rules, namespace)),
    // A binding can't be moved to another role: another reference is another binding.
    ...(access.roleRefs ?? []).map((ref) => binding(names.reference(ref), ref)),
    ...role(names.enterRole, [entering], undefined, [...workload, account(names.issuer)]),
  ];
}

/**
 * What can be created at once: namespaces, then what lies in them and the roles, then bindings of what is there. The right
 * to enter is given last, since a server learns of rights in the order in which they are given: who may enter has the
 * others too.
 */
export function inWaves(provider: string, objects: readonly WorkspaceObject[]): WorkspaceObject[][] {
  const { enterRole } = workspaceNames(provider);
  const wave = ({ type, object }: WorkspaceObject): number => {
    if (type === NAMESPACES) return 0;
    if (type !== ROLE_BINDINGS && type !== CLUSTER_ROLE_BINDINGS) return 1;
    return object.metadata.name === enterRole ? 3 : 2;
  };
  return [0, 1, 2, 3].map((index) => objects.filter((each) => wave(each) === index));
}

function namespaceToCreate({ namespace, disableAutomaticNamespaceCreation }: PermissionsRequest): string[] {
  return namespace === undefined || disableAutomaticNamespaceCreation ? [] : [namespace];
}

/** kcp fills it with a token of the issuer. @param suffix makes the name one that nobody has */
export function bootstrapSecret(provider: string, suffix: string): WorkspaceObject {
  const { bootstrapSecret: nameOf, issuer } = workspaceNames(provider);
  const secret = secretOf(provider, nameOf(suffix), 'kubernetes.io/service-account-token');
  secret.object.metadata.annotations = { 'kubernetes.io/service-account.name': issuer };
  return secret;
}

/** Empty: a token that is bound to it ends with it. */
export function tokenSecret(provider: string, suffix: string): WorkspaceObject {
  return secretOf(provider, workspaceNames(provider).tokenSecret(suffix), 'Opaque');
}

function secretOf(provider: string, name: string, type: string): WorkspaceObject {
  const { namespace } = workspaceNames(provider);
  return { type: SECRETS, object: { metadata: { name, namespace, labels: { [RUNTIME_LABEL]: provider } }, type } };
}

/** Changes exactly when what is created in the workspace changes. */
export function permissionsHash(provider: string, access: AccessSpec): string {
  return createHash('sha256')
    .update(JSON.stringify(workspaceObjects(provider, access)))
    .digest('hex')
    .slice(0, 16);
}
