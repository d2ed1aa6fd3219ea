import { hasFinalizer, removeFinalizerPatch } from '../../shared/finalizers.ts';
import { isGone } from '../../shared/kube/api-error.ts';
import type { ServiceObject } from '../../shared/model/kubernetes.ts';
import type { Run } from './run.ts';

/** Takes our finalizer from an object; the last thing that is done for it. */
export async function letGo({ key, provider, home, gone }: Run, object: ServiceObject): Promise<void> {
  const { finalizer, api } = provider;
  if (gone || !hasFinalizer(object, finalizer)) return;
  try {
    await home.mergePatch(api.type, key.name, removeFinalizerPatch(object, finalizer), { namespace: key.namespace });
  } catch (error) {
    if (!isGone(error, key.name)) throw error;
  }
}
