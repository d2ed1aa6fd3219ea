import { createHash } from 'node:crypto';
import type { ApiBinding } from '../../shared/kcp/bindings.ts';
import { act, type Decision, skip } from '../watch/decision.ts';
import { type Change, type Identified } from '../watch/seen.ts';
import { LOGICAL_CLUSTER_ANNOTATION } from '../../shared/names.ts';

/** Pure: all that is kept of an APIBinding of our export. */
export interface SeenBinding extends Identified {
  /** The logical cluster. */
  readonly group: string;
  /** The binding's name. */
  readonly id: string;
  readonly uid: string;
  readonly deleting: boolean;
  /** A fingerprint of what is asked for and what is accepted. */
  readonly claims: string;
  /** APIResourceSchemas that it is served from. */
  readonly schemas: readonly string[];
}

export function seenBinding({ metadata, status }: ApiBinding): SeenBinding | undefined {
  const cluster = metadata.annotations?.[LOGICAL_CLUSTER_ANNOTATION];
  if (!cluster || !metadata.uid) return undefined;
  const claims = [status?.exportPermissionClaims ?? [], status?.appliedPermissionClaims ?? []];
  return {
    group: cluster,
    id: metadata.name,
    uid: metadata.uid,
    deleting: metadata.deletionTimestamp !== undefined,
    claims: createHash('sha256').update(JSON.stringify(claims)).digest('base64'),
    schemas: (status?.boundResources ?? []).map(({ schema }) => schema.name),
  };
}

/** Step 4 for APIBindings: whether the objects of the workspace may get on now, or have to be told that they can't. */
export function bindingRelevance(change: Change<SeenBinding>): Decision {
  // Objects come and go with events of their own.
  if (change.kind !== 'changed') return skip('BindingUnchanged');
  const { before, now } = change;
  return before.claims === now.claims && before.uid === now.uid
    ? skip('BindingUnchanged')
    : act('BindingChanged', 'user');
}
