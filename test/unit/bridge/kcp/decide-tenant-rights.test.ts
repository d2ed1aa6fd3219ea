import { expect, test } from 'vitest';
import { isContested } from '../../../../bridge/kcp/decide-contested.ts';
import { isInForce, tenantRights } from '../../../../bridge/kcp/decide-tenant-rights.ts';

const RIGHTS = tenantRights('foo', { group: 'foo.example.org', plural: 'foos' });

test('tenants may do all with their objects but write the status', () => {
  const [role, binding] = RIGHTS;
  expect(role?.object['rules']).toEqual([
    { apiGroups: ['foo.example.org'], resources: ['foos'], verbs: ['*'] },
    { apiGroups: ['foo.example.org'], resources: ['foos/status'], verbs: ['get'] },
  ]);
  expect(binding?.object['roleRef']).toMatchObject({ name: role?.object.metadata.name });
});

test('what is there already is left, whoever made it, and what differs is not enough', () => {
  for (const right of RIGHTS) {
    const { labels: _, ...metadata } = right.object.metadata;
    expect(isInForce(right, { ...right.object, metadata })).toBe(true);
    expect(isInForce(right, undefined)).toBe(false);
    expect(isInForce(right, { metadata })).toBe(false);
  }
});

test('who changes the export as often as it is put right is not fought, and asked again now and then', () => {
  const left = Array.from({ length: 21 }, (_, mends) => mends).filter((mends) => !isContested(mends));
  expect(left).toEqual([0, 1, 2, 10, 20]);
});
