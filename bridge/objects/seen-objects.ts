import type { KubeObject } from '../../shared/model/kubernetes.ts';
import { type Mode, type ObjectKey, ONBOARDING_CLUSTER } from '../../shared/model/object-key.ts';
import {
  LOGICAL_CLUSTER_ANNOTATION,
  OPERATION_ANNOTATION,
  OPERATION_IGNORE,
  OPERATION_RECONCILE,
} from '../../shared/names.ts';
import type { Identified, Seen } from '../watch/seen.ts';

/** Pure: all that is kept of a Service API object: no spec, no status, no managed fields. */
export interface SeenObject extends Identified {
  /** The cluster of the object's key. */
  readonly group: string;
  /** `namespace/name` */
  readonly id: string;
  readonly uid: string;
  readonly generation: number;
  readonly resourceVersion: string;
  /** RFC 3339, to the second; text that sorts. */
  readonly createdAt: string;
  readonly deleting: boolean;
  /** It carries our finalizer. */
  readonly hasFinalizer: boolean;
  /** Value of the annotation `openmcp.cloud/operation`; `other` for one that means nothing, since it may be of any length. */
  readonly operation: typeof OPERATION_IGNORE | typeof OPERATION_RECONCILE | 'other' | undefined;
}

/** @returns `undefined` for an object that says neither its uid nor, in kcp mode, its logical cluster */
export function seenObject(mode: Mode, { metadata }: KubeObject, finalizer?: string): SeenObject | undefined {
  const cluster = mode === 'standard' ? ONBOARDING_CLUSTER : metadata.annotations?.[LOGICAL_CLUSTER_ANNOTATION];
  if (!cluster || !metadata.uid || !metadata.namespace) return undefined;
  return {
    group: cluster,
    id: `${metadata.namespace}/${metadata.name}`,
    uid: metadata.uid,
    generation: metadata.generation ?? 0,
    resourceVersion: metadata.resourceVersion ?? '',
    createdAt: metadata.creationTimestamp ?? '',
    deleting: metadata.deletionTimestamp !== undefined,
    hasFinalizer: finalizer !== undefined && (metadata.finalizers ?? []).includes(finalizer),
    operation: operationOf(metadata.annotations?.[OPERATION_ANNOTATION]),
  };
}

function operationOf(given: string | undefined): SeenObject['operation'] {
  if (given === undefined || given === OPERATION_IGNORE || given === OPERATION_RECONCILE) return given;
  return 'other';
}

export function keyOfSeen(provider: string, mode: Mode, seen: SeenObject): ObjectKey {
  const [namespace, name] = seen.id.split('/') as [string, string];
  return { provider, mode, cluster: seen.group, namespace, name, uid: seen.uid };
}

/**
 * Pure: which object of a workspace may be served now that another is gone: the oldest, as `winnerOf` of the functions
 * says. One, however many there are: each that goes would else wake all that are left.
 */
export function nextInWorkspace(gone: SeenObject, seen: Seen<SeenObject>): SeenObject | undefined {
  let next: SeenObject | undefined;
  for (const other of seen.inGroup(gone.group))
    if (other.id !== gone.id && !other.deleting && (!next || isOlder(other, next))) next = other;
  return next;
}

function isOlder(a: SeenObject, b: SeenObject): boolean {
  return a.createdAt === b.createdAt ? a.uid < b.uid : a.createdAt < b.createdAt;
}
