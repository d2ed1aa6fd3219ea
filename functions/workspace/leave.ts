import { messageOf } from '../../shared/errors.ts';
import { isUnclear } from '../../shared/kube/api-error.ts';
import { NAMESPACES, SECRETS } from '../../shared/kube/resources.ts';
import type { ResourceType, ServiceObject } from '../../shared/model/kubernetes.ts';
import type { Run } from '../step/run.ts';
import type { Verdict } from '../step/verdict.ts';
import { claimsVerdict } from './claims.ts';
import { planObjects, REMOVAL_ORDER } from './decide-objects.ts';
import { deletingForMs } from './ground.ts';
import { memoryOf } from './memory.ts';
import { workspaceSecret } from '../requests/desired.ts';
import type { WorkspacePort } from '../../shared/kcp/workspace-port.ts';
import { withinLimit } from './limit.ts';
import { labelled, removeAll } from './settle-objects.ts';

/**
 * Removes the access to a workspace: what is in the workspace first, and then the Secret on the platform. All of it
 * before the object's finalizer goes, since our own reach into the workspace may end with it.
 * @param options.mayBeInstalled access was complete once, so that something may be left behind
 * @returns what is waited for; undefined when all is done that can be done
 */
export async function leaveWorkspace(
  run: Run,
  workspace: WorkspacePort,
  object: ServiceObject,
  options: { mayBeInstalled: boolean },
): Promise<Extract<Verdict, { state: 'waiting' }> | undefined> {
  const { name, namespace } = workspaceSecret(run);
  const secret = await run.platform.get(SECRETS, name, namespace);
  try {
    if (!workspace.gone) await removeFromWorkspace(run, withinLimit(workspace, run), secret !== undefined);
  } catch (error) {
    if (!isUnclear(error) && !(error instanceof Obstructed)) throw error;
    const missing = await claimsVerdict(run, workspace);
    const patient = deletingForMs(run, object) < workspace.tuning.teardownPatienceMs;
    // Where access was never complete, little or nothing is left behind, and nobody has to be waited for.
    if (patient && options.mayBeInstalled) {
      if (missing?.state !== 'waiting') throw error;
      return { ...missing, message: `${missing.message}, or our objects stay behind in the workspace` };
    }
    run.log.warn({ why: missing?.state === 'waiting' ? missing.message : undefined }, 'left behind in the workspace');
  }
  if (secret) await run.platform.delete(SECRETS, name, { namespace, uid: secret.metadata.uid });
  return undefined;
}

/**
 * Removes all that was made in the workspace and nothing else, rights before the identities that have them.
 * @throws ApiError 403 or 404 while a claim is not accepted
 */
async function removeFromWorkspace(run: Run, { virtual }: WorkspacePort, hasAccess: boolean): Promise<void> {
  const memory = memoryOf(await run.platform.get(NAMESPACES, run.tenantNamespace), hasAccess);
  const lists = await Promise.allSettled(
    REMOVAL_ORDER.map((type) => labelled(run, virtual, [type], { metadataOnly: true })),
  );
  for (const [index, list] of lists.entries()) {
    // A type that can't be listed fails at its turn: what comes before it, rights above all, has gone by then.
    if (list.status === 'rejected') throw list.reason;
    const { remove } = planObjects([], list.value, memory, [REMOVAL_ORDER[index] as ResourceType]);
    await removeAll(virtual, remove).catch((error: unknown) => {
      // It has just answered: what does not let go is a webhook, of which a tenant may have any.
      throw isUnclear(error) || !answers(lists) ? error : new Obstructed(messageOf(error), { cause: error });
    });
  }
}

/** The workspace can be read, and does not let our objects go. */
class Obstructed extends Error {}

function answers(lists: readonly PromiseSettledResult<unknown>[]): boolean {
  return lists.some(({ status }) => status === 'fulfilled');
}
