import type { KubeObject } from '../../shared/model/kubernetes.ts';
import { type ObjectKey, parseObjectKey } from '../../shared/model/object-key.ts';
import {
  ADOPTED_ANNOTATION,
  GONE_SINCE_ANNOTATION,
  INSTALLED_ANNOTATION,
  OBJECT_ANNOTATION,
  SNAPSHOT_ANNOTATION,
  UNINSTALLED_ANNOTATION,
} from '../../shared/names.ts';
import { isDeleting } from '../../shared/status.ts';

/**
 * What is remembered of an object on the platform cluster, where no tenant can write: on the AccessRequest of its control
 * plane, or on the tenant namespace of its workspace. Each of them is made before anything else of the object, and removed
 * after all else. Finalizers and conditions of the object only show the same to people.
 */
export interface Marks {
  /** The object that the holder is for. In a kcp workspace it is the one that is served: its claim. */
  readonly owner: ObjectKey | undefined;
  /** `<uid> <generation>` of what the provider was last let install; undefined: its createOrUpdate never ran. */
  readonly installed: string | undefined;
  /** The uid of the object whose provider has said that all is gone. From then on access is removed, never ordered. */
  readonly uninstalled: string | undefined;
  /** What `delete` needs of the object, should it be gone by then. */
  readonly snapshot: string | undefined;
  /** Since when the object is known to be gone though something of it is left. */
  readonly goneSince: Date | undefined;
  /** Another runtime made the holder, and may have installed something. */
  readonly madeByAnother: boolean;
  /** The holder itself is being deleted. */
  readonly ending: boolean;
  /** As it was read. */
  readonly holder: KubeObject;
  readonly resourceVersion: string | undefined;
}

/** Where the marks of one object lie. */
export interface MarksPort {
  /** Undefined where there is no holder: nothing was ordered yet, or all of it is gone. */
  read(): Promise<Marks | undefined>;
  /**
   * @param annotations `null` removes one
   * @param from nothing is written where the holder has changed since
   * @returns the marks as they are now; undefined when the holder is gone
   * @throws ApiError 409 `Conflict` with `from`
   */
  write(annotations: Readonly<Record<string, string | null>>, from?: Marks): Promise<Marks | undefined>;
}

/** @param adoptable the holder may be another runtime's, which leaves no annotation of ours */
export function marksOf(holder: KubeObject, adoptable: boolean): Marks {
  const { annotations = {}, resourceVersion } = holder.metadata;
  const owner = annotations[OBJECT_ANNOTATION];
  const gone = Date.parse(annotations[GONE_SINCE_ANNOTATION] ?? '');
  return {
    owner: owner === undefined ? undefined : parseObjectKey(owner),
    installed: annotations[INSTALLED_ANNOTATION],
    uninstalled: annotations[UNINSTALLED_ANNOTATION],
    snapshot: annotations[SNAPSHOT_ANNOTATION],
    goneSince: Number.isNaN(gone) ? undefined : new Date(gone),
    madeByAnother: adoptable && (owner === undefined || annotations[ADOPTED_ANNOTATION] !== undefined),
    ending: isDeleting(holder),
    holder,
    resourceVersion,
  };
}

/** The mark of this very state of an object. */
export function installedMark({ uid = '', generation = 0 }: { uid?: string; generation?: number }): string {
  return `${uid} ${generation}`;
}

/** Whether the holder is for the object of that name, be it an earlier incarnation: that one's installation goes on. */
export function isFor({ owner }: Marks, key: ObjectKey): boolean {
  return (
    owner !== undefined &&
    owner.provider === key.provider &&
    owner.mode === key.mode &&
    owner.cluster === key.cluster &&
    owner.namespace === key.namespace &&
    owner.name === key.name
  );
}

/** Whether the holder is for this very object. */
export function isOf(marks: Marks, key: ObjectKey): boolean {
  return isFor(marks, key) && marks.owner?.uid === key.uid;
}

/** A namespace that no object has claimed, as earlier versions left one for the next object of its workspace. */
export function isNobodys({ owner, madeByAnother }: Marks): boolean {
  return owner === undefined && !madeByAnother;
}
