import { expect, test } from 'vitest';
import { FairShare } from '../../../../bridge/send/fair-share.ts';
import { tenantOf } from '../../../../shared/model/object-key.ts';
import { kcpKey, standardKey } from '../../functions/objects.ts';

const SHARE = { burst: 3, perSecond: 2 };

test('a tenant has a burst, and then so many a second, whatever others do', () => {
  const share = new FairShare(SHARE);
  const asks = (tenant: string, now: number) => share.allows(tenant, now);
  expect([1, 2, 3, 4, 5].map(() => asks('a', 0))).toEqual([true, true, true, false, false]);
  expect(asks('b', 0)).toBe(true);
  expect([asks('a', 500), asks('a', 500)]).toEqual([true, false]);
  expect([1, 2, 3, 4].map(() => asks('a', 10_000))).toEqual([true, true, true, false]);
});

test('refusals do not count, so that whoever asks without end still gets his rate', () => {
  const share = new FairShare(SHARE);
  let allowed = 0;
  for (let now = 0; now < 10_000; now += 10) if (share.allows('a', now)) allowed += 1;
  expect(allowed).toBe(3 + 2 * 10 - 1);
});

test('tenants that are quiet are forgotten', () => {
  const share = new FairShare(SHARE);
  for (let tenant = 0; tenant < 1_000; tenant++) share.allows(`t${tenant}`, 10_000);
  expect(share.size).toBe(1_000);
  share.allows('last', 20_000);
  expect(share.size).toBe(1);
});

test('a tenant is a project, or a workspace', () => {
  expect(tenantOf(standardKey)).toBe(tenantOf({ ...standardKey, name: 'other', uid: 'x' }));
  expect(tenantOf(standardKey)).not.toBe(tenantOf({ ...standardKey, namespace: 'project-b' }));
  expect(tenantOf(kcpKey)).toBe(tenantOf({ ...kcpKey, namespace: 'team', name: 'other' }));
  expect(tenantOf(kcpKey)).not.toBe(tenantOf({ ...kcpKey, cluster: 'other' }));
});
