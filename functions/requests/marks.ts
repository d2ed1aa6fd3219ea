import { conflictWith, isConflict, isGone } from '../../shared/kube/api-error.ts';
import type { KubeClient } from '../../shared/kube/ports.ts';
import { ACCESS_REQUESTS, NAMESPACES } from '../../shared/kube/resources.ts';
import type { KubeObject, ResourceType, ServiceObject } from '../../shared/model/kubernetes.ts';
import type { ObjectKey } from '../../shared/model/object-key.ts';
import {
  GONE_SINCE_ANNOTATION,
  INSTALLED_ANNOTATION,
  SNAPSHOT_ANNOTATION,
  UNINSTALLED_ANNOTATION,
} from '../../shared/names.ts';
import type { Provider } from '../../shared/provider/provider.ts';
import { installedMark, isFor, type Marks, marksOf, type MarksPort } from '../step/marks.ts';
import { type RequestIdentity, requestIdentities, tenantNamespace } from './desired.ts';
import { isOurs } from './ownership.ts';
import { snapshotOf } from '../step/snapshot.ts';
import { MAX_CONFLICTS } from '../tuning.ts';

interface Holder {
  readonly type: ResourceType;
  readonly name: string;
  readonly namespace: string | undefined;
  /** It may be another runtime's. */
  readonly adoptable: boolean;
  readonly isOurs: (found: KubeObject) => boolean;
}

/** The marks of an object on the platform cluster. */
export function marksPort(platform: KubeClient, key: ObjectKey, provider: Provider): MarksPort {
  const { type, name, namespace, adoptable, isOurs } = holderOf(key, provider);
  return {
    async read() {
      const found = await platform.get(type, name, namespace);
      return found && isOurs(found) ? marksOf(found, adoptable) : undefined;
    },
    async write(annotations, from) {
      const { resourceVersion } = from ?? {};
      try {
        const patch = { metadata: { ...(resourceVersion ? { resourceVersion } : {}), annotations } };
        return marksOf(await platform.mergePatch(type, name, patch, { namespace }), adoptable);
      } catch (error) {
        if (!isGone(error, name)) throw error;
        return undefined;
      }
    },
  };
}

function holderOf(key: ObjectKey, provider: Provider): Holder {
  if (key.mode === 'kcp')
    return { type: NAMESPACES, name: tenantNamespace(key), namespace: undefined, adoptable: false, isOurs: () => true };
  const first = requestIdentities(key, provider)[0] as RequestIdentity;
  return {
    type: ACCESS_REQUESTS,
    name: first.name,
    namespace: first.namespace,
    adoptable: true,
    isOurs: (found) => isOurs(first, found),
  };
}

/** From now on the object's access is removed. @param from the marks as they were read */
export async function markUninstalled(port: MarksPort, key: ObjectKey, from: Marks | undefined): Promise<void> {
  await writeOwn(port, key, { [UNINSTALLED_ANNOTATION]: key.uid }, from);
}

/** Before the provider is let install a state of the object: that it may have run, and what its `delete` needs. */
export async function markInstalled(
  port: MarksPort,
  key: ObjectKey,
  object: ServiceObject,
  marks: Marks | undefined,
): Promise<void> {
  const mark = installedMark(object.metadata);
  // It was taken for gone, and is back: restored from a backup, it has the same uid.
  const stale = marks?.goneSince !== undefined || marks?.uninstalled !== undefined;
  if (marks?.installed === mark && !stale) return;
  const annotations = {
    [INSTALLED_ANNOTATION]: mark,
    [SNAPSHOT_ANNOTATION]: snapshotOf(object),
    ...(stale ? { [GONE_SINCE_ANNOTATION]: null, [UNINSTALLED_ANNOTATION]: null } : {}),
  };
  await writeOwn(port, key, annotations, marks);
}

/**
 * By a compare-and-set: whoever was slow writes nothing onto what has become another's meanwhile. Others may write other
 * things onto the holder all the time.
 * @throws ApiError 409 `Conflict` where it is another's
 */
async function writeOwn(
  port: MarksPort,
  key: ObjectKey,
  annotations: Readonly<Record<string, string | null>>,
  from: Marks | undefined,
): Promise<void> {
  let marks = from ?? (await port.read());
  // What an earlier object of that name left is gone on from; a later one's is not ours.
  const uids = [marks?.owner?.uid, key.uid];
  for (let attempt = 1; marks; attempt++) {
    if (marks.owner && !(isFor(marks, key) && uids.includes(marks.owner.uid)))
      throw conflictWith(`marks of ${key.name}`, `${marks.holder.metadata.name} is for another object by now`);
    try {
      await port.write(annotations, marks);
      return;
    } catch (error) {
      if (!isConflict(error) || attempt === MAX_CONFLICTS) throw error;
      marks = await port.read();
    }
  }
}
