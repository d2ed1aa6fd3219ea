import { setTimeout as sleep } from 'node:timers/promises';
import { RuntimeError } from '../../shared/errors.ts';
import type { KubeClient } from '../../shared/kube/ports.ts';
import { ACCESS_REQUESTS, CLUSTER_REQUESTS, NAMESPACES } from '../../shared/kube/resources.ts';
import { release } from '../requests/requests.ts';
import type { Owned } from './decide-orphans.ts';
import { ORPHAN_POLL_MS, ORPHAN_PATIENCE_MS } from '../tuning.ts';

/**
 * Deletes this very incarnation and waits until it is gone; our own finalizer on a request goes last.
 * @throws RuntimeError `NOT_READY` naming the finalizers that still hold it
 */
export async function removeOrphan(platform: KubeClient, { type, object }: Owned): Promise<void> {
  const { name, namespace, uid } = object.metadata;
  await platform.delete(type, name, { namespace, uid });
  // What is in a namespace goes on its own time.
  if (type === NAMESPACES) return;
  for (const end = performance.now() + ORPHAN_PATIENCE_MS; ;) {
    const now = await platform.get(type, name, namespace);
    if (!now || now.metadata.uid !== uid) return;
    const ours = type === ACCESS_REQUESTS || type === CLUSTER_REQUESTS;
    if (ours && (await release(platform, type, now))) continue;
    if (performance.now() > end)
      throw new RuntimeError(
        'NOT_READY',
        `${type.kind} ${namespace}/${name} is still held by ${now.metadata.finalizers?.join(', ') || 'nobody'}`,
      );
    await sleep(ORPHAN_POLL_MS);
  }
}
