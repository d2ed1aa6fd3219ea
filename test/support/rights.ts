import { existsSync, readFileSync } from 'node:fs';
import type { PolicyRule } from '../../shared/model/access.ts';
import type { Manifest } from './manifests.ts';

/** What manifests grant, against what an API server was asked. */

/** One verb on one resource, for one identity. */
export interface Grant {
  /** Name of a ServiceAccount or user. */
  readonly who: string;
  readonly verb: string;
  readonly group: string;
  /** `<resource>` or `<resource>/<subresource>`. */
  readonly resource: string;
  /** Of a RoleBinding; undefined: everywhere. */
  readonly namespace: string | undefined;
  /** Objects that it is limited to. */
  readonly names: readonly string[] | undefined;
}

export interface Use {
  readonly who: string;
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  /** Undefined: cluster-scoped, or in all namespaces. */
  readonly namespace: string | undefined;
  readonly name: string | undefined;
  /** Of the answer. */
  readonly code: number;
}

type Role = Manifest & { rules: (PolicyRule & { nonResourceURLs?: string[]; resourceNames?: string[] })[] };
type Binding = Manifest & { roleRef: { kind: string; name: string } };

/** All that the roles among the manifests grant, for each subject of their bindings. */
export function grantsOf(manifests: readonly Manifest[]): Grant[] {
  const bindings = manifests.filter(({ kind }) => /^(Cluster)?RoleBinding$/.test(kind)) as Binding[];
  return bindings.flatMap(({ kind, roleRef, subjects = [], metadata }) => {
    const role = manifests.find((each) => each.kind === roleRef.kind && each.metadata.name === roleRef.name);
    if (!role) throw new Error(`${kind} ${metadata.name}: there is no ${roleRef.kind} ${roleRef.name}`);
    const namespace = kind === 'RoleBinding' ? metadata.namespace : undefined;
    return subjects.flatMap(({ name: who }) =>
      (role as Role).rules.flatMap(({ apiGroups = [], resources = [], verbs, resourceNames: names }) =>
        apiGroups.flatMap((group) =>
          resources.flatMap((resource) =>
            verbs.map((verb): Grant => ({ who, verb, group, resource, namespace, names })),
          ),
        ),
      ),
    );
  });
}

interface AuditEvent {
  verb: string;
  requestURI: string;
  user: { username: string };
  objectRef?: { resource?: string; subresource?: string; apiGroup?: string; namespace?: string; name?: string };
  responseStatus?: { code?: number };
}

const ACCOUNT = 'system:serviceaccount:';

/**
 * Requests by ServiceAccounts of a namespace, or by a user.
 * @param by the namespace, or the user's name
 */
export function usesIn(auditLog: string, by: { namespace: string } | { user: string }): Use[] {
  if (!existsSync(auditLog)) throw new Error(`${auditLog}: no request was written down`);
  const prefix = 'namespace' in by ? `${ACCOUNT}${by.namespace}:` : '';
  const lines = readFileSync(auditLog, 'utf8').split('\n');
  return lines.flatMap((line): Use[] => {
    if (line === '') return [];
    const { verb, requestURI, user, objectRef, responseStatus } = JSON.parse(line) as AuditEvent;
    if ('user' in by ? user.username !== by.user : !user.username.startsWith(prefix)) return [];
    // What is behind a virtual workspace has rights of its own.
    if (!objectRef?.resource || requestURI.startsWith('/services/')) return [];
    const { resource, subresource, apiGroup: group = '', namespace, name } = objectRef;
    const { code = 0 } = responseStatus ?? {};
    const use = {
      who: user.username.slice(prefix.length),
      verb,
      group,
      resource: subresource === undefined ? resource : `${resource}/${subresource}`,
      // A Namespace is in itself, for an API server.
      namespace: resource === 'namespaces' ? undefined : namespace,
      name,
      code,
    };
    // An apply that finds nothing creates, and needs the right to.
    return verb === 'patch' && code === 201 ? [use, { ...use, verb: 'create' }] : [use];
  });
}

/**
 * Grants that no answered request needed. One for all namespaces is needed by a request outside of the provider's own
 * alone: for that one a Role would do.
 */
export function unused(grants: readonly Grant[], uses: readonly Use[], ownNamespace: string): string[] {
  const needs = ({ who, verb, group, resource, namespace, names }: Grant, use: Use): boolean =>
    use.code < 400 &&
    use.who === who &&
    use.verb === verb &&
    use.group === group &&
    use.resource === resource &&
    (namespace === undefined ? use.namespace !== ownNamespace : use.namespace === namespace) &&
    (names === undefined || (use.name !== undefined && names.includes(use.name)));
  const left = grants.filter((grant) => !uses.some((use) => needs(grant, use)));
  return [...new Set(left.map(textOf))].toSorted();
}

/** What was refused for want of a right, each thing once. */
export function refused(uses: readonly Use[]): string[] {
  return [...new Set(uses.filter(({ code }) => code === 403).map(textOf))].toSorted();
}

function textOf({ who, verb, group, resource, namespace }: Grant | Use): string {
  const what = group === '' ? resource : `${resource}.${group}`;
  return `${who}: ${verb} ${what}${namespace === undefined ? '' : ` in ${namespace}`}`;
}
