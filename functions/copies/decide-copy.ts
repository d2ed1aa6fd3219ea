import type { Secret } from '../../shared/model/access.ts';
import { equal, mergePatchOf } from '../../shared/model/json.ts';
import { MANAGED_BY_LABEL, OBJECT_ANNOTATION, shortenName } from '../../shared/names.ts';
import type { DesiredCopy } from './decide-copies.ts';

/** Whose copies they are. */
export interface CopyOwner {
  readonly controllerName: string;
  /** Value of the annotation that leads from a copy to its object. */
  readonly annotation: string;
}

export type CopyAction =
  | { readonly do: 'nothing' }
  | { readonly do: 'create'; readonly object: Secret }
  | { readonly do: 'patch'; readonly patch: object }
  /** The type of a Secret can't be changed, nor the data of one that is immutable. */
  | { readonly do: 'replace'; readonly uid: string | undefined; readonly object: Secret }
  /** The name is somebody else's. */
  | { readonly do: 'refuse' };

/** Pure: what has to be done so that the target is a copy of the source. */
export function decideCopy(
  copy: DesiredCopy,
  source: Secret,
  target: Secret | undefined,
  owner: CopyOwner,
): CopyAction {
  const object: Secret = {
    metadata: {
      name: copy.name,
      namespace: copy.namespace,
      labels: { [MANAGED_BY_LABEL]: shortenName(owner.controllerName) },
      annotations: { [OBJECT_ANNOTATION]: owner.annotation },
    },
    type: source.type ?? 'Opaque',
    data: source.data ?? {},
  };
  if (!target) return { do: 'create', object };
  const { resourceVersion, labels, annotations } = target.metadata;
  const mine = isOurCopy(target, owner);
  // One without any mark and with the very same contents was made by another runtime for the same purpose.
  const adoptable = labels?.[MANAGED_BY_LABEL] === undefined && equal(target.data ?? {}, object.data);
  if (!mine && !adoptable) return { do: 'refuse' };
  const data = mergePatchOf(target.data ?? {}, object.data);
  if (target.type !== object.type || (data !== undefined && target.immutable))
    return { do: 'replace', uid: target.metadata.uid, object };
  const marked =
    labels?.[MANAGED_BY_LABEL] === object.metadata.labels?.[MANAGED_BY_LABEL] &&
    annotations?.[OBJECT_ANNOTATION] === owner.annotation;
  if (data === undefined && marked) return { do: 'nothing' };
  const metadata = { resourceVersion, labels: object.metadata.labels, annotations: object.metadata.annotations };
  return { do: 'patch', patch: { metadata, ...(data === undefined ? {} : { data }) } };
}

/** Pure: whether a Secret is a copy that the runtime made, also for an earlier object of the same name. */
export function isOurCopy({ metadata: { labels, annotations } }: Secret, owner: CopyOwner): boolean {
  const withoutUid = (annotation: string | undefined) => annotation?.slice(0, annotation.lastIndexOf('|'));
  return (
    labels?.[MANAGED_BY_LABEL] === shortenName(owner.controllerName) &&
    withoutUid(annotations?.[OBJECT_ANNOTATION]) === withoutUid(owner.annotation)
  );
}

/** Pure: copies of before that are not wanted any more. */
export function outdatedCopies(recorded: readonly DesiredCopy[], desired: readonly DesiredCopy[]): DesiredCopy[] {
  const placeOf = ({ cluster, namespace, name }: DesiredCopy) => `${cluster}/${namespace}/${name}`;
  const wanted = new Set(desired.map(placeOf));
  return recorded.filter((copy) => !wanted.has(placeOf(copy)));
}
