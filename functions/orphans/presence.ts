import { messageOf } from '../../shared/errors.ts';
import { isUnclear } from '../../shared/kube/api-error.ts';
import type { KubeClient } from '../../shared/kube/ports.ts';
import { NAMESPACES, SECRETS } from '../../shared/kube/resources.ts';
import type { ResourceType } from '../../shared/model/kubernetes.ts';
import type { ObjectKey } from '../../shared/model/object-key.ts';
import type { WorkspacePort } from '../../shared/kcp/workspace-port.ts';
import type { Owned, Presence } from './decide-orphans.ts';

export interface PresencePorts {
  /** The provider's Service API. */
  type: ResourceType;
  /** @throws where there is no access to it */
  onboarding(): Promise<KubeClient>;
  /** @throws where there is no access to it */
  workspace(logicalCluster: string): Promise<WorkspacePort | 'unbound'>;
}

/**
 * Whether the object that something was made for exists. `absent` only where a server that lets us read the type says
 * that there is no such object, or where the list of bindings proves that its workspace does not bind us.
 */
export async function presenceOf(owned: Owned, ports: PresencePorts): Promise<Presence> {
  const { key } = owned;
  if (!key) return { state: 'unknown', why: 'no object is named' };
  try {
    return key.mode === 'standard'
      ? exists(await (await ports.onboarding()).get(ports.type, key.name, key.namespace))
      : await inWorkspace(owned, key, ports);
  } catch (error) {
    return { state: 'unknown', why: messageOf(error) };
  }
}

async function inWorkspace({ type }: Owned, key: ObjectKey, ports: PresencePorts): Promise<Presence> {
  const workspace = await ports.workspace(key.cluster);
  // An export without addresses may have lost them for a moment: that proves nothing.
  if (workspace === 'unbound') return { state: 'unknown', why: 'the APIExport has no address for the workspace' };
  const shared = type === SECRETS || type === NAMESPACES;
  try {
    // Secret and namespace are the workspace's: the next of its objects uses them too.
    if (shared) return exists((await workspace.virtual.list(ports.type, { metadataOnly: true })).items[0]);
    return exists(await workspace.virtual.get(ports.type, key.name, key.namespace));
  } catch (error) {
    if (isUnclear(error) && !(await workspace.isBound())) return { state: 'absent' };
    throw error;
  }
}

function exists(object: unknown): Presence {
  return { state: object === undefined ? 'absent' : 'present' };
}
