import { isUnclear } from '../../shared/kube/api-error.ts';
import { SECRETS } from '../../shared/kube/resources.ts';
import type { ServiceObject } from '../../shared/model/kubernetes.ts';
import type { Run } from '../step/run.ts';
import type { Verdict } from '../step/verdict.ts';
import { claimsVerdict } from './claims.ts';
import { deletingForMs } from './ground.ts';
import { workspaceSecret } from './objects.ts';
import type { WorkspacePort } from '../../shared/kcp/workspace-port.ts';
import { removeFromWorkspace } from './remove.ts';

/**
 * Removes the access to a workspace: what is in the workspace first, and then the Secret on the platform. All of it
 * before the object's finalizer goes, since our own reach into the workspace may end with it.
 * @param options.keepNamespaces another object of the workspace waits for its turn and will need them at once
 * @param options.mayBeInstalled access was complete once, so that something may be left behind
 * @returns what is waited for; undefined when all is done that can be done
 */
export async function leaveWorkspace(
  run: Run,
  workspace: WorkspacePort,
  object: ServiceObject,
  options: { keepNamespaces: boolean; mayBeInstalled: boolean },
): Promise<Extract<Verdict, { state: 'waiting' }> | undefined> {
  try {
    if (!workspace.gone) await removeFromWorkspace(workspace.virtual, run.provider.name, options.keepNamespaces);
  } catch (error) {
    if (!isUnclear(error)) throw error;
    const missing = await claimsVerdict(run, workspace);
    const patient = deletingForMs(run, object) < workspace.tuning.teardownPatienceMs;
    // Where access was never complete, little or nothing is left behind, and nobody has to be waited for.
    if (patient && options.mayBeInstalled) {
      if (missing?.state !== 'waiting') throw error;
      return { ...missing, message: `${missing.message}, or our objects stay behind in the workspace` };
    }
    run.log.warn({ why: missing?.state === 'waiting' ? missing.message : undefined }, 'left behind in the workspace');
  }
  const { name, namespace } = workspaceSecret(run);
  await run.platform.delete(SECRETS, name, { namespace });
  return undefined;
}
