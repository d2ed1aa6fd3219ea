import { createHash } from 'node:crypto';
import type { FunctionName } from '../events/catalogue.ts';
import { formatObjectKey, type ObjectKey } from '../model/object-key.ts';

/**
 * Names in Redis. Everything of one provider lies under one hash tag, so that scripts work on a Redis Cluster and two
 * providers share a Redis without seeing each other.
 */
export interface QueueKeys {
  /** BullMQ's `prefix`. */
  readonly prefix: string;
  readonly parked: string;
  readonly timers: string;
  readonly attempts: string;
  /** Objects whose last invocation failed for good, when that was, and what it was about. */
  readonly permanent: string;
  readonly epoch: string;
  /** @param member a formatted object key */
  lease(member: string): string;
  /** How often events of the object were of an unknown version lately. */
  unknown(member: string): string;
}

export function queueKeys(provider: string): QueueKeys {
  const prefix = `{service-provider:${provider}}`;
  return {
    prefix,
    parked: `${prefix}:parked`,
    timers: `${prefix}:timers`,
    attempts: `${prefix}:attempts`,
    permanent: `${prefix}:permanent`,
    epoch: `${prefix}:epoch`,
    lease: (member) => `${prefix}:lease:${member}`,
    unknown: (member) => `${prefix}:unknown:${member}`,
  };
}

/** BullMQ queue of one function; with the prefix it is that of one provider and function. */
export function queueName(name: FunctionName): string {
  return name;
}

/** Deduplication id of an object: BullMQ refuses colons and plain integers in ids, hence a hash. */
export function workId(key: ObjectKey): string {
  return `o-${createHash('sha256').update(formatObjectKey(key)).digest('base64url').slice(0, 27)}`;
}
