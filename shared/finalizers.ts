import type { KubeObject } from './model/kubernetes.ts';

export function hasFinalizer(object: KubeObject, finalizer: string): boolean {
  return object.metadata.finalizers?.includes(finalizer) ?? false;
}

/**
 * Merge patch that adds or removes one finalizer and keeps all others. It holds the resourceVersion that the list was
 * read with: another writer in between gives a conflict, and the caller reads again.
 */
export function addFinalizerPatch(object: KubeObject, finalizer: string): object {
  return finalizersPatch(object, [...(object.metadata.finalizers ?? []), finalizer]);
}

export function removeFinalizerPatch(object: KubeObject, finalizer: string): object {
  return finalizersPatch(
    object,
    (object.metadata.finalizers ?? []).filter((each) => each !== finalizer),
  );
}

function finalizersPatch(object: KubeObject, finalizers: string[]): object {
  return { metadata: { resourceVersion: object.metadata.resourceVersion, uid: object.metadata.uid, finalizers } };
}
