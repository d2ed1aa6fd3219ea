import { createHash } from 'node:crypto';
import type { KubeObjectOf } from '../../shared/model/kubernetes.ts';
import { act, type Decision, type Heard, skip } from '../watch/decision.ts';
import type { Change, Identified } from '../watch/seen.ts';

/** A Secret or ConfigMap. */
export type Contents = KubeObjectOf<{
  type?: string;
  data?: Record<string, string>;
  binaryData?: Record<string, string>;
}>;

/** Pure: all that is kept of a Secret or ConfigMap: a fingerprint of what is in it. */
export interface SeenReference extends Identified {
  readonly fingerprint: string;
}

export function seenReference({ metadata, type, data, binaryData }: Contents): SeenReference | undefined {
  if (!metadata.uid || !metadata.namespace) return undefined;
  const sorted = [data, binaryData].map((fields) => Object.entries(fields ?? {}).sort(([a], [b]) => (a < b ? -1 : 1)));
  return {
    group: metadata.namespace,
    id: metadata.name,
    uid: metadata.uid,
    fingerprint: createHash('sha256')
      .update(JSON.stringify([type, ...sorted]))
      .digest('base64'),
  };
}

/**
 * Step 4 for what a provider refers to, pure: only a change of the contents concerns anybody, and only of those that are
 * referred to; of all while that isn't known yet. What is there at the start needs nothing: every object is looked at anyway.
 */
export function referenceRelevance(
  change: Change<SeenReference>,
  heard: Heard,
  referenced: ReadonlySet<string> | undefined,
): Decision {
  const now = change.kind === 'gone' ? change.before : change.now;
  if (referenced && !referenced.has(now.id)) return skip('NotReferenced');
  if (heard === 'first-list') return skip('Unchanged');
  if (change.kind === 'changed' && change.before.fingerprint === change.now.fingerprint) return skip('Unchanged');
  return act('ReferenceChanged', 'background');
}

/** Pure: the names among what a provider declares. */
export function namesOf(references: readonly (string | { name: string })[]): string[] {
  return references.map((reference) => (typeof reference === 'string' ? reference : reference.name));
}
