import { expect, test } from 'vitest';
import { missingClaims, unaskedClaims } from '../../../../shared/kcp/missing-claims.ts';

const wanted = [
  { group: '', resource: 'secrets', verbs: ['get', 'create'] },
  { group: 'rbac.authorization.k8s.io', resource: 'roles', verbs: ['get'] },
];

test('nothing is missing when all is applied, in any order and with further verbs', () => {
  const status = {
    exportPermissionClaims: wanted,
    appliedPermissionClaims: [
      { group: 'rbac.authorization.k8s.io', resource: 'roles', verbs: ['get', 'list'] },
      { group: '', resource: 'secrets', verbs: ['create', 'get'] },
    ],
  };
  expect(missingClaims(status, wanted)).toEqual([]);
});

test('one that is not applied is named, the core group by its resource alone', () => {
  expect(missingClaims({ exportPermissionClaims: wanted }, wanted)).toEqual([
    'secrets',
    'roles.rbac.authorization.k8s.io',
  ]);
});

test('one that is applied without a verb is missing, also where a star stands for it', () => {
  const applied = (verbs: string[]) => ({
    exportPermissionClaims: wanted,
    appliedPermissionClaims: [{ ...wanted[0], resource: 'secrets', verbs }, ...wanted.slice(1)],
  });
  expect(missingClaims(applied(['get']), wanted)).toEqual(['secrets']);
  expect(missingClaims(applied(['*']), wanted)).toEqual(['secrets']);
});

test('what the export does not ask for yet is not the tenant’s matter', () => {
  expect(missingClaims({ exportPermissionClaims: wanted.slice(1), appliedPermissionClaims: [] }, wanted)).toEqual([
    'roles.rbac.authorization.k8s.io',
  ]);
  expect(missingClaims(undefined, wanted)).toEqual([]);
});

test('claims without verbs, as older servers have them, mean all', () => {
  const claims = [{ group: '', resource: 'secrets' }];
  expect(missingClaims({ exportPermissionClaims: claims, appliedPermissionClaims: claims }, wanted)).toEqual([]);
  expect(missingClaims({ exportPermissionClaims: claims }, wanted)).toEqual(['secrets']);
});

test('a claim that the export does not ask for is named, and is not missing', () => {
  const wanted = [
    { group: '', resource: 'secrets', verbs: ['get'] },
    { group: 'rbac.authorization.k8s.io', resource: 'roles', verbs: ['get'] },
  ];
  const status = { exportPermissionClaims: [wanted[0]], appliedPermissionClaims: [wanted[0]] } as never;
  expect(missingClaims(status, wanted)).toEqual([]);
  expect(unaskedClaims(status, wanted)).toEqual(['roles.rbac.authorization.k8s.io']);
  expect(unaskedClaims(undefined, wanted)).toEqual([]);
});
