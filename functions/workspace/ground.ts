import { isUnclear } from '../../shared/kube/api-error.ts';
import { NAMESPACES } from '../../shared/kube/resources.ts';
import type { ServiceObject } from '../../shared/model/kubernetes.ts';
import { isDeleting } from '../../shared/status.ts';
import type { Run } from '../step/run.ts';
import { decideGround, type Ground, type NamespaceState } from './decide-ground.ts';
import { workspaceNames } from './objects.ts';
import type { WorkspacePort } from '../../shared/kcp/workspace-port.ts';

/** For how long the object has been on its way out. */
export function deletingForMs(run: Run, object: ServiceObject): number {
  return run.now().getTime() - Date.parse(object.metadata.deletionTimestamp ?? run.now().toISOString());
}

export async function lookAtGround(run: Run, workspace: WorkspacePort, object: ServiceObject): Promise<Ground> {
  const [binding, ours, objects] = await Promise.all([
    workspace.binding(),
    namespaceState(workspace, workspaceNames(run.provider.name).namespace),
    namespaceState(workspace, object.metadata.namespace ?? ''),
  ]);
  const seen = { ours, objects, bindingDeleting: binding === undefined || isDeleting(binding) };
  return decideGround(seen, deletingForMs(run, object), workspace.tuning.teardownPatienceMs);
}

async function namespaceState({ virtual }: WorkspacePort, name: string): Promise<NamespaceState> {
  try {
    const namespace = await virtual.get(NAMESPACES, name);
    if (!namespace) return 'absent';
    return isDeleting(namespace) ? 'terminating' : 'there';
  } catch (error) {
    // A claim that is not accepted answers 403, or a 404 that names nothing.
    if (isUnclear(error)) return 'hidden';
    throw error;
  }
}
