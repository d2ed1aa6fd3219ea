import { describe, expect, test } from 'vitest';
import {
  type ApiExport,
  decideExport,
  type ExportDecision,
  isShared,
  type WantedExport,
} from '../../../../bridge/kcp/decide-provision.ts';
import { CLAIM_VERBS, RUNTIME_CLAIMS } from '../../../../shared/kcp/claims.ts';
import type { PermissionClaim } from '../../../../shared/model/access.ts';
import { CLAIMS_ANNOTATION, RUNTIME_LABEL } from '../../../../shared/names.ts';

const secrets: PermissionClaim = { group: '', resource: 'secrets', verbs: ['get', 'list'] };
const roles: PermissionClaim = { group: 'rbac.authorization.k8s.io', resource: 'clusterroles', verbs: ['get'] };
const WANTED: WantedExport = {
  provider: 'foo',
  name: 'foo.example.org',
  resource: { group: 'foo.example.org', name: 'foos', schema: 'v1.foos.foo.example.org' },
  claims: [secrets, roles],
  limitTenants: false,
};

/** What kcp has after our create. */
function created(wanted: WantedExport = WANTED): ApiExport {
  const decision = decideExport(undefined, wanted) as Extract<ExportDecision, { kind: 'create' }>;
  const { metadata, ...rest } = decision.object;
  return { metadata: { ...metadata, resourceVersion: '7' }, ...rest };
}

const foreign = { group: 'other.example.org', name: 'others', schema: 'v1.others.other.example.org' };
const foreignClaim: PermissionClaim = { group: '', resource: 'configmaps', verbs: ['get'] };

function withSpec(spec: Partial<NonNullable<ApiExport['spec']>>): ApiExport {
  const existing = created();
  return { ...existing, spec: { ...existing.spec, ...spec } };
}

interface Patch {
  metadata: unknown;
  spec: NonNullable<ApiExport['spec']>;
}

function patchOf(decision: ExportDecision): Patch {
  return (decision as Extract<ExportDecision, { kind: 'patch' }>).patch as Patch;
}

describe('nothing is there', () => {
  test('it is created with our type and claims', () => {
    expect(created()).toMatchObject({
      metadata: { name: 'foo.example.org', labels: { [RUNTIME_LABEL]: 'foo' } },
      spec: { resources: [{ ...WANTED.resource, storage: { crd: {} } }], permissionClaims: [secrets, roles] },
    });
  });

  test('claims on one resource become one, since kcp allows no more', () => {
    const more: PermissionClaim = { resource: 'secrets', verbs: ['list', 'patch'] };
    const { spec } = created({ ...WANTED, claims: [secrets, more] });
    expect(spec?.permissionClaims).toEqual([{ group: '', resource: 'secrets', verbs: ['get', 'list', 'patch'] }]);
  });
});

describe('it is as it should be', () => {
  test.each([
    ['as we made it', created()],
    [
      'as kcp returns it',
      withSpec({
        permissionClaims: [
          { ...secrets, identityHash: '' },
          { ...roles, identityHash: '' },
        ],
      }),
    ],
    ['verbs in another order', withSpec({ permissionClaims: [{ ...secrets, verbs: ['list', 'get'] }, roles] })],
    [
      'shared with others',
      withSpec({
        resources: [foreign, ...(created().spec?.resources ?? [])],
        permissionClaims: [foreignClaim, secrets, roles],
      }),
    ],
  ])('nothing is written: %s', (_name, existing) => {
    expect(decideExport(existing, WANTED)).toEqual({ kind: 'nothing' });
  });
});

describe('it differs', () => {
  test('a new schema replaces ours and leaves the others', () => {
    const existing = withSpec({ resources: [foreign, ...(created().spec?.resources ?? [])] });
    const resource = { ...WANTED.resource, schema: 'v2.foos.foo.example.org' };
    const patch = patchOf(decideExport(existing, { ...WANTED, resource }));
    expect(patch.metadata).toMatchObject({ resourceVersion: '7' });
    expect(patch.spec).toEqual({ resources: [foreign, { ...resource, storage: { crd: {} } }] });
  });

  test('an export that somebody else made gets our type and claims', () => {
    const existing: ApiExport = {
      metadata: { name: WANTED.name, resourceVersion: '3' },
      spec: { resources: [foreign], permissionClaims: [foreignClaim] },
    };
    const patch = patchOf(decideExport(existing, WANTED));
    expect(patch.spec.resources?.map(({ name }) => name)).toEqual(['others', 'foos']);
    expect(patch.spec.permissionClaims).toEqual([foreignClaim, secrets, roles]);
  });

  test('an empty export gets everything', () => {
    const patch = patchOf(decideExport({ metadata: { name: WANTED.name, resourceVersion: '3' } }, WANTED));
    expect(patch.spec.permissionClaims).toEqual([secrets, roles]);
    expect(patch.spec.resources).toHaveLength(1);
  });

  test('a claim that a later version no longer needs goes, a foreign one stays', () => {
    const existing = withSpec({ permissionClaims: [foreignClaim, secrets, roles] });
    const patch = patchOf(decideExport(existing, { ...WANTED, claims: [secrets] }));
    expect(patch.spec.permissionClaims).toEqual([foreignClaim, secrets]);
    expect(patch.metadata).toMatchObject({ annotations: { [CLAIMS_ANNOTATION]: 'secrets' } });
  });

  test('our claim loses a verb that is no longer needed', () => {
    const narrower = { ...secrets, verbs: ['get'] };
    const patch = patchOf(decideExport(created(), { ...WANTED, claims: [narrower, roles] }));
    expect(patch.spec.permissionClaims).toEqual([narrower, roles]);
  });

  test('a foreign claim on a resource that we need keeps its verbs', () => {
    const existing = withSpec({ permissionClaims: [{ ...secrets, verbs: ['delete'] }] });
    delete existing.metadata.annotations;
    const patch = patchOf(decideExport(existing, { ...WANTED, claims: [secrets] }));
    expect(patch.spec.permissionClaims).toEqual([{ ...secrets, verbs: ['delete', 'get', 'list'] }]);
  });

  test('a verb that somebody took away comes back', () => {
    const existing = withSpec({ permissionClaims: [{ ...secrets, verbs: ['get'] }, roles] });
    const patch = patchOf(decideExport(existing, WANTED));
    expect(patch.spec.permissionClaims).toEqual([secrets, roles]);
    expect(patch.spec).not.toHaveProperty('resources');
  });

  test('an identity hash is carried', () => {
    const hashed = { ...secrets, identityHash: 'abc' };
    const patch = patchOf(decideExport(created(), { ...WANTED, claims: [hashed, roles] }));
    expect(patch.spec.permissionClaims).toEqual([hashed, roles]);
  });

  test.each(['labels', 'maximalPermissionPolicy', 'identity'])('%s are not touched', (field) => {
    const decision = decideExport(withSpec({ resources: [] }), WANTED);
    expect(JSON.stringify(patchOf(decision))).not.toContain(field);
  });
});

describe("the runtime's own claims", () => {
  test('name every verb, since kcp takes them literally', () => {
    expect(RUNTIME_CLAIMS.map(({ resource }) => resource)).toContain('serviceaccounts');
    for (const claim of RUNTIME_CLAIMS) expect(claim.group).toBeTypeOf('string');
    for (const claim of RUNTIME_CLAIMS) expect(claim.verbs).toEqual([...CLAIM_VERBS]);
  });
});

describe('what tenants may do at most', () => {
  const limited = { ...WANTED, limitTenants: true };
  const policy = { local: {} };

  test('is put in force once their rights are written down, and stays', () => {
    expect(created(limited).spec?.maximalPermissionPolicy).toEqual(policy);
    expect(created().spec).not.toHaveProperty('maximalPermissionPolicy');
    expect(patchOf(decideExport(created(), limited)).spec).toEqual({ maximalPermissionPolicy: policy });
    expect(decideExport(created(limited), limited)).toEqual({ kind: 'nothing' });
    expect(decideExport(created(limited), WANTED)).toEqual({ kind: 'nothing' });
  });

  test('is left to whoever shares the export: tenants would lose the other types', () => {
    const shared = withSpec({ resources: [foreign, { ...WANTED.resource, storage: { crd: {} } }] });
    expect(isShared(shared, WANTED)).toBe(true);
    expect(decideExport(shared, limited)).toEqual({ kind: 'nothing' });
  });
});

test('an edit is named', () => {
  const existing = withSpec({ permissionClaims: [secrets] });
  delete existing.metadata.labels;
  expect(decideExport(existing, WANTED)).toMatchObject({ fields: ['spec.permissionClaims', `label ${RUNTIME_LABEL}`] });
});
