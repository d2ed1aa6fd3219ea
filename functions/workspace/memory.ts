import { NAMESPACES } from '../../shared/kube/resources.ts';
import { equal } from '../../shared/model/json.ts';
import type { KubeObject } from '../../shared/model/kubernetes.ts';
import { MADE_ANNOTATION } from '../../shared/names.ts';
import type { Run } from '../step/run.ts';
import type { Memory } from './decide-objects.ts';

/**
 * What the platform remembers of a workspace, on its tenant namespace.
 * @param namespace as it is on the platform cluster; undefined where it is gone, and with it all that was known
 * @param hasAccess there is a kubeconfig of the workspace: where nothing is remembered beside it, an earlier version made it
 */
export function memoryOf(namespace: KubeObject | undefined, hasAccess: boolean): Memory {
  const written = namespace?.metadata.annotations?.[MADE_ANNOTATION];
  return {
    key: namespace?.metadata.uid ?? '',
    version: namespace?.metadata.resourceVersion,
    uids: written === undefined ? {} : uidsIn(written),
    byLabel: written === undefined && hasAccess,
  };
}

/**
 * Writes what is to be remembered, where it differs from what is.
 * @throws ApiError 409 `Conflict` where the namespace has changed since it was read
 */
export async function keepMemory({ platform, tenantNamespace }: Run, before: Memory, now: Memory): Promise<Memory> {
  if (equal(before.uids, now.uids) && !before.byLabel) return before;
  const annotations = { [MADE_ANNOTATION]: JSON.stringify(now.uids) };
  const metadata = { annotations, uid: before.key, resourceVersion: before.version };
  const kept = await platform.mergePatch(NAMESPACES, tenantNamespace, { metadata });
  return { ...now, version: kept.metadata.resourceVersion, byLabel: false };
}

/** Damaged, it tells nothing: what is in the workspace then belongs to nobody we know. */
function uidsIn(written: string): Record<string, string> {
  try {
    const parsed: unknown = JSON.parse(written);
    if (typeof parsed !== 'object' || parsed === null) return {};
    return Object.fromEntries(Object.entries(parsed).filter(([, uid]) => typeof uid === 'string'));
  } catch {
    return {};
  }
}
