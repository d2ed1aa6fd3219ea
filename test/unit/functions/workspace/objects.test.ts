import { describe, expect, test } from 'vitest';
import {
  bootstrapSecret,
  inWaves,
  permissionsHash,
  tokenSecret,
  type WorkspaceObject,
  workspaceNames,
  workspaceObjects,
} from '../../../../functions/workspace/objects.ts';
import { workspaceSecret } from '../../../../functions/requests/desired.ts';
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
  const ISSUER = [
    'ServiceAccount/service-provider-db/service-provider-db',
    'ServiceAccount/service-provider-db/service-provider-db-issuer',
    'Role/service-provider-db/service-provider-db-issuer',
    'RoleBinding/service-provider-db/service-provider-db-issuer',
  ];
  const ENTER = ['ClusterRole/service-provider-db-enter', 'ClusterRoleBinding/service-provider-db-enter'];
  const subjectsOf = (objects: WorkspaceObject[], name: string): unknown[] =>
    objects
      .filter(({ object }) => object.metadata.name === name)
      .flatMap(({ object }) => ((object['subjects'] as { name: string }[]) ?? []).map((subject) => subject.name));

  test('without declared permissions: an identity that may enter, and one that makes tokens of it', () => {
    const objects = of({});
    expect(ids(objects)).toEqual(['Namespace/service-provider-db', ...ISSUER, ...ENTER]);
    expect(rulesOf(objects)).toEqual([
      {
        apiGroups: [''],
        resources: ['serviceaccounts/token'],
        resourceNames: ['service-provider-db'],
        verbs: ['create'],
      },
      { nonResourceURLs: ['/'], verbs: ['access'] },
    ]);
    expect(subjectsOf(objects, 'service-provider-db-issuer')).toEqual(['service-provider-db-issuer']);
    expect(subjectsOf(objects, 'service-provider-db-enter')).toEqual([
      'service-provider-db',
      'service-provider-db-issuer',
    ]);
  });

  test('the right to enter is given last', () => {
    const waves = inWaves('db', of({ permissions: [{ namespace: 'flux', rules: [READ] }, { rules: [READ] }] }));
    expect(waves.map((wave) => wave.length)).toEqual([2, 6, 3, 1]);
    expect(ids(waves[3] ?? [])).toEqual(['ClusterRoleBinding/service-provider-db-enter']);
  });

  test('every declared permission becomes a role with exactly its rules, bound to that identity alone', () => {
    const objects = of({ permissions: [{ rules: [READ] }, { namespace: 'flux', name: 'mine', rules: [READ] }] });
    expect(ids(objects)).toEqual([
      'Namespace/service-provider-db',
      'Namespace/flux',
      ...ISSUER,
      'ClusterRole/service-provider-db-access-0',
      'ClusterRoleBinding/service-provider-db-access-0',
      'Role/flux/mine',
      'RoleBinding/flux/mine',
      ...ENTER,
    ]);
    expect(rulesOf(objects).slice(1, 3)).toEqual([READ, READ]);
    const bindings = objects.filter(({ object }) => 'subjects' in object).slice(1, 3);
    expect(bindings).toHaveLength(2);
    for (const { object } of bindings)
      expect(object['subjects']).toEqual([
        { kind: 'ServiceAccount', name: 'service-provider-db', namespace: 'service-provider-db' },
      ]);
    expect(bindings[1]?.object['roleRef']).toEqual({
      apiGroup: 'rbac.authorization.k8s.io',
      kind: 'Role',
      name: 'mine',
    });
  });

  test('everything carries the label by which a tenant accepts claims and we find it again', () => {
    const permissions = [{ namespace: 'flux', rules: [READ] }];
    const objects = [...of({ permissions }), bootstrapSecret('db', '1'), tokenSecret('db', '1')];
    expect(objects).toHaveLength(12);
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
    }).slice(5, 7);
    expect(objects.map(({ type }) => type.kind)).toEqual(['ClusterRoleBinding', 'RoleBinding']);
    expect(objects[0]?.object['roleRef']).toMatchObject({ kind: 'ClusterRole', name: 'view' });
    expect(objects[1]?.object).toMatchObject({
      metadata: { namespace: 'flux' },
      roleRef: { kind: 'Role', name: 'editor' },
    });
  });

  test('a binding that can not be moved: another role reference is a binding of another name', () => {
    const nameFor = (name: string) => of({ roleRefs: [{ kind: 'ClusterRole', name }] }).at(5)?.object.metadata.name;
    expect(nameFor('edit')).not.toBe(nameFor('view'));
    expect(nameFor('view')).toBe(nameFor('view'));
  });

  test('a long provider name still gives names that the API server takes', () => {
    const names = workspaceNames('p'.repeat(63));
    for (const name of [names.namespace, names.issuer, names.enterRole, names.role(10)])
      expect(name).toMatch(/^[a-z0-9][-a-z0-9]{0,61}[a-z0-9]$/);
  });

  test('the bootstrap Secret belongs to the issuer', () => {
    expect(bootstrapSecret('db', '1').object).toMatchObject({
      type: 'kubernetes.io/service-account-token',
      metadata: {
        namespace: 'service-provider-db',
        annotations: { 'kubernetes.io/service-account.name': 'service-provider-db-issuer' },
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
