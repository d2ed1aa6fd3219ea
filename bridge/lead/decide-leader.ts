/** Pure: who leads, read from a `coordination.k8s.io` Lease, and what to do about it. */

export interface LeaseSpec {
  holderIdentity?: string;
  leaseDurationSeconds?: number;
  acquireTime?: string;
  renewTime?: string;
  leaseTransitions?: number;
}

/** What was seen of the Lease, and since when on our own clock: clocks of two machines are never compared. */
export interface Observation {
  readonly spec: LeaseSpec;
  readonly unchangedSince: number;
  readonly seenAt: number;
}

export type LeaderStep =
  /** There is no Lease: make one. */
  | 'create'
  /** It is ours: say that we live. */
  | 'renew'
  /** Its holder has given it up, or has not been heard of for its whole duration: take it. */
  | 'take'
  /** Somebody else leads. */
  | 'follow';

/** @param maxGapMs who has not looked for so long may have missed a sign of life, and begins to wait anew */
export function observe(before: Observation | undefined, spec: LeaseSpec, now: number, maxGapMs: number): Observation {
  const same =
    before !== undefined &&
    now - before.seenAt <= maxGapMs &&
    before.spec.holderIdentity === spec.holderIdentity &&
    before.spec.renewTime === spec.renewTime &&
    before.spec.leaseTransitions === spec.leaseTransitions;
  return { spec, unchangedSince: same ? before.unchangedSince : now, seenAt: now };
}

export function leaderStep(observed: Observation | undefined, me: string, now: number): LeaderStep {
  if (!observed) return 'create';
  const { holderIdentity = '', leaseDurationSeconds = 0 } = observed.spec;
  if (holderIdentity === me) return 'renew';
  if (holderIdentity === '') return 'take';
  return now - observed.unchangedSince > leaseDurationSeconds * 1000 ? 'take' : 'follow';
}

/** The Lease as it is written for a step. */
export function leaseFor(step: 'create' | 'renew' | 'take', options: LeaseOrder): LeaseSpec {
  const { before, me, seconds, now } = options;
  const time = new Date(now).toISOString().replace('Z', '000Z'); // MicroTime
  const renewed = { holderIdentity: me, leaseDurationSeconds: seconds, renewTime: time };
  if (step === 'renew') return renewed;
  return { ...renewed, acquireTime: time, leaseTransitions: step === 'take' ? (before?.leaseTransitions ?? 0) + 1 : 0 };
}

export interface LeaseOrder {
  before: LeaseSpec | undefined;
  me: string;
  seconds: number;
  now: number;
}
