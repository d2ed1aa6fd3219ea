import { describe, expect, test } from 'vitest';
import {
  type ApiExportV1Alpha1,
  currentSchemaV1Alpha1,
  decideExportV1Alpha1,
} from '../../../../bridge/kcp/decide-provision-v1alpha1.ts';
import { CLAIMS_ANNOTATION, RUNTIME_LABEL } from '../../../../shared/names.ts';

const WANTED = {
  provider: 'foo',
  name: 'foo.example.org',
  resource: { group: 'foo.example.org', name: 'foos', schema: 'v2.foos.foo.example.org' },
  claims: [
    { group: '', resource: 'secrets', verbs: ['get'] },
    { group: 'rbac.authorization.k8s.io', resource: 'roles', verbs: ['get'] },
  ],
  limitTenants: false,
};
const OURS = [
  { group: '', resource: 'secrets', all: true },
  { group: 'rbac.authorization.k8s.io', resource: 'roles', all: true },
];
const existing = (spec: ApiExportV1Alpha1['spec'], annotation?: string): ApiExportV1Alpha1 => ({
  metadata: {
    name: WANTED.name,
    resourceVersion: '7',
    labels: { [RUNTIME_LABEL]: 'foo' },
    ...(annotation === undefined ? {} : { annotations: { [CLAIMS_ANNOTATION]: annotation } }),
  },
  spec: spec ?? {},
});
const ANNOTATION = 'roles.rbac.authorization.k8s.io,secrets';

describe('an APIExport of the older version', () => {
  test('is created with claims that have no verbs', () => {
    const decision = decideExportV1Alpha1(undefined, WANTED);
    expect(decision).toMatchObject({
      kind: 'create',
      object: { spec: { latestResourceSchemas: ['v2.foos.foo.example.org'], permissionClaims: OURS } },
    });
  });

  test('is left alone when all is there', () => {
    const spec = { latestResourceSchemas: [WANTED.resource.schema], permissionClaims: OURS };
    expect(decideExportV1Alpha1(existing(spec, ANNOTATION), WANTED)).toEqual({ kind: 'nothing' });
  });

  test('limits tenants, unless it has other types', () => {
    const limited = { ...WANTED, limitTenants: true };
    const policyOf = (...schemas: string[]) => {
      const decision = decideExportV1Alpha1(existing({ latestResourceSchemas: schemas }, ANNOTATION), limited);
      return (decision as { patch?: { spec: object } }).patch?.spec;
    };
    expect(policyOf(WANTED.resource.schema)).toMatchObject({ maximalPermissionPolicy: { local: {} } });
    expect(policyOf('v1.foos.foo.example.org')).toMatchObject({ maximalPermissionPolicy: { local: {} } });
    expect(policyOf('v1.bars.foo.example.org')).not.toHaveProperty('maximalPermissionPolicy');
  });

  test('moves to the new schema and keeps those of other types', () => {
    const spec = {
      latestResourceSchemas: ['v1.foos.foo.example.org', 'v1.bars.foo.example.org', 'v1.foos.other.example.org'],
      permissionClaims: OURS,
    };
    expect(currentSchemaV1Alpha1(existing(spec), WANTED.resource)).toBe('v1.foos.foo.example.org');
    expect(decideExportV1Alpha1(existing(spec, ANNOTATION), WANTED)).toMatchObject({
      patch: {
        metadata: { resourceVersion: '7' },
        spec: {
          latestResourceSchemas: ['v1.bars.foo.example.org', 'v1.foos.other.example.org', 'v2.foos.foo.example.org'],
        },
      },
    });
  });

  test('keeps claims of others and takes away what is not ours any more', () => {
    const others = { resource: 'configmaps', all: true };
    const spec = {
      latestResourceSchemas: [WANTED.resource.schema],
      permissionClaims: [...OURS, { group: '', resource: 'events', all: true }, others],
    };
    expect(decideExportV1Alpha1(existing(spec, `events,${ANNOTATION}`), WANTED)).toMatchObject({
      patch: { spec: { permissionClaims: [...OURS, others] } },
    });
  });
});
