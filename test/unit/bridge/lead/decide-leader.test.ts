import { describe, expect, test } from 'vitest';
import { leaderStep, leaseFor, observe } from '../../../../bridge/lead/decide-leader.ts';

const LEASE = { holderIdentity: 'other', leaseDurationSeconds: 15, renewTime: 'a', leaseTransitions: 2 };
const GAP = 7_500;

describe('who leads', () => {
  test('without a Lease one is made', () => {
    expect(leaderStep(undefined, 'me', 0)).toBe('create');
  });

  test('our own is renewed, however old it is', () => {
    const mine = observe(undefined, { ...LEASE, holderIdentity: 'me' }, 0, GAP);
    expect(leaderStep(mine, 'me', 1_000_000)).toBe('renew');
  });

  test("another one's is left alone until nothing was heard for its whole duration on our clock", () => {
    let seen = observe(undefined, LEASE, 0, GAP);
    for (let now = 0; now <= 15_000; now += 3_000) {
      seen = observe(seen, LEASE, now, GAP);
      expect(leaderStep(seen, 'me', now)).toBe('follow');
    }
    seen = observe(seen, LEASE, 18_000, GAP);
    expect(leaderStep(seen, 'me', 18_000)).toBe('take');
  });

  test('a sign of life begins the wait anew', () => {
    let seen = observe(undefined, LEASE, 0, GAP);
    for (let now = 3_000; now <= 30_000; now += 3_000) {
      seen = observe(seen, { ...LEASE, renewTime: String(now) }, now, GAP);
      expect(leaderStep(seen, 'me', now)).toBe('follow');
    }
  });

  test('who could not look for a while does not take what it could not see renewed', () => {
    const before = observe(undefined, LEASE, 0, GAP);
    const after = observe(before, LEASE, 60_000, GAP);
    expect(leaderStep(after, 'me', 60_000)).toBe('follow');
  });

  test('one that was given up is taken at once', () => {
    expect(leaderStep(observe(undefined, { ...LEASE, holderIdentity: '' }, 0, GAP), 'me', 0)).toBe('take');
  });
});

test('what is written counts transitions, and a renewal moves nothing but its time', () => {
  const order = { before: LEASE, me: 'me', seconds: 15, now: Date.UTC(2026, 0, 1) };
  expect(leaseFor('take', order)).toEqual({
    holderIdentity: 'me',
    leaseDurationSeconds: 15,
    renewTime: '2026-01-01T00:00:00.000000Z',
    acquireTime: '2026-01-01T00:00:00.000000Z',
    leaseTransitions: 3,
  });
  expect(leaseFor('renew', order)).not.toHaveProperty('leaseTransitions');
  expect(leaseFor('create', { ...order, before: undefined })).toMatchObject({ leaseTransitions: 0 });
});
