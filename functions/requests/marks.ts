import { isGone } from '../../shared/kube/api-error.ts';
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
import { installedMark, type Marks, marksOf, type MarksPort } from '../step/marks.ts';
import { type RequestIdentity, requestIdentities, tenantNamespace } from './desired.ts';
import { isOurs } from './ownership.ts';
import { snapshotOf } from '../step/snapshot.ts';

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

/** From now on the object's access is removed. */
export async function markUninstalled(port: MarksPort, key: ObjectKey): Promise<void> {
  await port.write({ [UNINSTALLED_ANNOTATION]: key.uid });
}

/** Before the provider is let install a state of the object: that it may have run, and what its `delete` needs. */
export async function markInstalled(port: MarksPort, object: ServiceObject, marks: Marks | undefined): Promise<void> {
  const mark = installedMark(object.metadata);
  // It was taken for gone, and is back: restored from a backup, it has the same uid.
  const stale = marks?.goneSince !== undefined || marks?.uninstalled !== undefined;
  if (marks?.installed === mark && !stale) return;
  await port.write({
    [INSTALLED_ANNOTATION]: mark,
    [SNAPSHOT_ANNOTATION]: snapshotOf(object),
    ...(stale ? { [GONE_SINCE_ANNOTATION]: null, [UNINSTALLED_ANNOTATION]: null } : {}),
  });
}
