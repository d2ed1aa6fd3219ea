import { gunzipSync, gzipSync } from 'node:zlib';
import { RuntimeError } from '../../shared/errors.ts';
import type { ServiceObject } from '../../shared/model/kubernetes.ts';
import type { ObjectKey } from '../../shared/model/object-key.ts';
import type { Marks } from './marks.ts';

/** All annotations of an object together may have 256 KiB; something is left for others. */
export const MAX_SNAPSHOT_LENGTH = 192 * 1024;
/** What a provider's `delete` may need of them; annotations beyond that are left out. */
const MAX_ANNOTATIONS_LENGTH = 16 * 1024;
/** A snapshot is ours, yet nothing that is unpacked may grow without end. The API server takes no larger object. */
const MAX_UNPACKED_BYTES = 4 * 1024 * 1024;
/** `kubectl apply`'s copy of the whole object. */
const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration';

interface Kept {
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  creationTimestamp?: string;
  spec?: Record<string, unknown>;
}

/**
 * What `delete` needs of an object, as a text for an annotation: spec, labels, and annotations as far as they are small.
 * @throws RuntimeError `INVALID_OBJECT` for a spec that is too large to be remembered
 */
export function snapshotOf({ metadata, spec }: ServiceObject): string {
  const { [LAST_APPLIED]: _copy, ...annotations } = metadata.annotations ?? {};
  const { labels, creationTimestamp } = metadata;
  const kept: Kept = {
    ...(labels ? { labels } : {}),
    ...(JSON.stringify(annotations).length <= MAX_ANNOTATIONS_LENGTH ? { annotations } : {}),
    ...(creationTimestamp ? { creationTimestamp } : {}),
    ...(spec ? { spec } : {}),
  };
  const text = gzipSync(JSON.stringify(kept)).toString('base64');
  if (text.length > MAX_SNAPSHOT_LENGTH)
    throw new RuntimeError(
      'INVALID_OBJECT',
      `spec and labels have ${text.length} bytes compressed and at most ${MAX_SNAPSHOT_LENGTH} can be remembered for the deletion; make the spec smaller`,
    );
  return text;
}

/**
 * An object that is gone, as it was when its provider was last let install it, marked for deletion.
 * @param finalizer ours, which held it
 */
export function vanishedObject(key: ObjectKey, finalizer: string, marks: Marks, now: Date): ServiceObject {
  const { labels, annotations, creationTimestamp, spec } = unpack(marks.snapshot);
  const [, generation] = (marks.installed ?? '').split(' ');
  return {
    metadata: {
      name: key.name,
      namespace: key.namespace,
      uid: key.uid,
      generation: Number(generation ?? 0),
      finalizers: [finalizer],
      deletionTimestamp: (marks.goneSince ?? now).toISOString(),
      ...(labels ? { labels } : {}),
      ...(annotations ? { annotations } : {}),
      ...(creationTimestamp ? { creationTimestamp } : {}),
    },
    ...(spec ? { spec } : {}),
  };
}

function unpack(snapshot: string | undefined): Kept {
  if (snapshot === undefined) return {};
  const text = gunzipSync(Buffer.from(snapshot, 'base64'), { maxOutputLength: MAX_UNPACKED_BYTES }).toString();
  return JSON.parse(text) as Kept;
}
