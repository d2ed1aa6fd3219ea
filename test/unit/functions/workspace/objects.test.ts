import { describe, expect, test } from 'vitest';
import {
  bootstrapSecret,
  permissionsHash,
  type WorkspaceObject,
  workspaceNames,
  workspaceObjects,
  workspaceSecret,
} from '../../../../functions/workspace/objects.ts';
import type { AccessSpec } from '../../../../shared/model/access.ts';
import { RUNTIME_LABEL } from '../../../../shared/names.ts';
import { provider } from '../objects.ts';

const READ = { apiGroups: [''], resources: ['configmaps'], verbs: ['get'] };
const ids = (objects: WorkspaceObject[]): string[] =>
  objects.map(({ type, object: { metadata } }) =>
    [type.kind, metadata.namespace, metadata.name].filter((part) => part !== undefined).join('/'),
  );
const of = (access: AccessSpec): WorkspaceObject[] => workspaceObjects('db', access);
const rulesOf = (objects: WorkspaceObject[]): unknown[] =>
  objects.flatMap(({ object }) => (object['rules'] as unknown[]) ?? []);

describe('what is created in a workspace', () => {
  test('without declared permissions: an identity that may enter and ask for tokens of itself, and nothing more', () => {
    const objects = of({});
    expect(ids(objects)).toEqual([
      'Namespace/service-provider-db',
      'ServiceAccount/service-provider-db/service-provider-db',
      'ClusterRole/service-provider-db-token',
      'ClusterRoleBinding/service-provider-db-token',
    ]);
    expect(rulesOf(objects)).toEqual([
      { nonResourceURLs: ['/'], verbs: ['access'] },
      {
        apiGroups: [''],
        resources: ['serviceaccounts/token'],
        resourceNames: ['service-provider-db'],
        verbs: ['create'],
      },
    ]);
  });

  test('every declared permission becomes a role with exactly its rules, bound to that identity alone', () => {
    const objects = of({ permissions: [{ rules: [READ] }, { namespace: 'flux', name: 'mine', rules: [READ] }] });
    expect(ids(objects)).toEqual([
      'Namespace/service-provider-db',
      'Namespace/flux',
      'ServiceAccount/service-provider-db/service-provider-db',
      'ClusterRole/service-provider-db-token',
      'ClusterRoleBinding/service-provider-db-token',
      'ClusterRole/service-provider-db-access-0',
      'ClusterRoleBinding/service-provider-db-access-0',
      'Role/flux/mine',
      'RoleBinding/flux/mine',
    ]);
    expect(rulesOf(objects).slice(2)).toEqual([READ, READ]);
    const bindings = objects.filter(({ object }) => 'subjects' in object);
    expect(bindings).toHaveLength(3);
    for (const { object } of bindings)
      expect(object['subjects']).toEqual([
        { kind: 'ServiceAccount', name: 'service-provider-db', namespace: 'service-provider-db' },
      ]);
    expect(bindings[2]?.object['roleRef']).toEqual({
      apiGroup: 'rbac.authorization.k8s.io',
      kind: 'Role',
      name: 'mine',
    });
  });

  test('everything carries the label by which a tenant accepts claims and we find it again', () => {
    const objects = [...of({ permissions: [{ namespace: 'flux', rules: [READ] }] }), bootstrapSecret('db')];
    expect(objects).toHaveLength(8);
    for (const { object } of objects) expect(object.metadata.labels).toEqual({ [RUNTIME_LABEL]: 'db' });
  });

  test('a namespace is created before what is in it, once, and not where the declaration asks not to', () => {
    const namespaces = of({
      permissions: [
        { namespace: 'flux', rules: [READ] },
        { namespace: 'flux', name: 'again', rules: [READ] },
        { namespace: 'theirs', disableAutomaticNamespaceCreation: true, rules: [READ] },
      ],
    }).filter(({ type }) => type.kind === 'Namespace');
    expect(ids(namespaces)).toEqual(['Namespace/service-provider-db', 'Namespace/flux']);
  });

  test('an existing role is bound, in a namespace or everywhere', () => {
    const objects = of({
      roleRefs: [
        { kind: 'ClusterRole', name: 'view' },
        { kind: 'Role', name: 'editor', namespace: 'flux' },
      ],
    }).slice(4);
    expect(objects.map(({ type }) => type.kind)).toEqual(['ClusterRoleBinding', 'RoleBinding']);
    expect(objects[0]?.object['roleRef']).toMatchObject({ kind: 'ClusterRole', name: 'view' });
    expect(objects[1]?.object).toMatchObject({
      metadata: { namespace: 'flux' },
      roleRef: { kind: 'Role', name: 'editor' },
    });
  });

  test('a binding that can not be moved: another role reference is a binding of another name', () => {
    const nameFor = (name: string) => of({ roleRefs: [{ kind: 'ClusterRole', name }] }).at(-1)?.object.metadata.name;
    expect(nameFor('edit')).not.toBe(nameFor('view'));
    expect(nameFor('view')).toBe(nameFor('view'));
  });

  test('a long provider name still gives names that the API server takes', () => {
    const names = workspaceNames('p'.repeat(63));
    for (const name of [names.namespace, names.bootstrapSecret, names.tokenRole, names.role(10)])
      expect(name).toMatch(/^[a-z0-9][-a-z0-9]{0,61}[a-z0-9]$/);
  });

  test('the bootstrap Secret belongs to that ServiceAccount', () => {
    expect(bootstrapSecret('db').object).toMatchObject({
      type: 'kubernetes.io/service-account-token',
      metadata: {
        namespace: 'service-provider-db',
        annotations: { 'kubernetes.io/service-account.name': 'service-provider-db' },
      },
    });
  });
});

describe('the hash of the permissions', () => {
  const base = permissionsHash('db', { permissions: [{ rules: [READ] }] });

  test('stays while nothing changes', () => {
    expect(permissionsHash('db', structuredClone({ permissions: [{ rules: [READ] }] }))).toBe(base);
    expect(base).toMatch(/^[0-9a-f]{16}$/);
  });

  test.each<[string, string, AccessSpec]>([
    ['a verb', 'db', { permissions: [{ rules: [{ ...READ, verbs: ['get', 'list'] }] }] }],
    ['a namespace', 'db', { permissions: [{ namespace: 'flux', rules: [READ] }] }],
    ['a role reference', 'db', { permissions: [{ rules: [READ] }], roleRefs: [{ kind: 'ClusterRole', name: 'view' }] }],
    ['a permission that is gone', 'db', {}],
    ['the provider', 'other', { permissions: [{ rules: [READ] }] }],
  ])('moves with %s', (_what, name, access) => {
    expect(permissionsHash(name, access)).not.toBe(base);
  });
});

test('the kubeconfig lies in the tenant namespace, under one name for a provider and workspace', () => {
  expect(workspaceSecret({ provider, tenantNamespace: 'kcp--1' })).toEqual({
    name: 'db--workspace--mcp',
    namespace: 'kcp--1',
    key: 'kubeconfig',
  });
});
