import { messageOf } from '../../shared/errors.ts';
import { isUnclear } from '../../shared/kube/api-error.ts';
import { NAMESPACES, SECRETS } from '../../shared/kube/resources.ts';
import type { ResourceType, ServiceObject } from '../../shared/model/kubernetes.ts';
import type { Run } from '../step/run.ts';
import type { Verdict } from '../step/verdict.ts';
import { claimsVerdict } from './claims.ts';
import { planObjects, remember, REMOVAL_ORDER, type Removal } from './decide-objects.ts';
import { deletingForMs } from './ground.ts';
import { keepMemory, memoryOf } from './memory.ts';
import { workspaceSecret } from './objects.ts';
import type { WorkspacePort } from '../../shared/kcp/workspace-port.ts';
import { withinLimit } from './limit.ts';
import { labelled, removeAll } from './settle-objects.ts';

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
    if (!workspace.gone) await removeFromWorkspace(run, withinLimit(workspace, run), options.keepNamespaces);
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
  const { name, namespace } = workspaceSecret(run);
  await run.platform.delete(SECRETS, name, { namespace });
  return undefined;
}

/**
 * Removes all that was made in the workspace and nothing else, rights before the identities that have them.
 * @throws ApiError 403 or 404 while a claim is not accepted
 */
async function removeFromWorkspace(run: Run, { virtual }: WorkspacePort, keepNamespaces: boolean): Promise<void> {
  const { name, namespace } = workspaceSecret(run);
  const [tenant, secret] = await Promise.all([
    run.platform.get(NAMESPACES, run.tenantNamespace),
    run.platform.get(SECRETS, name, namespace),
  ]);
  const memory = memoryOf(tenant, secret !== undefined);
  const types = keepNamespaces ? REMOVAL_ORDER.filter((type) => type !== NAMESPACES) : REMOVAL_ORDER;
  const lists = await Promise.allSettled(types.map((type) => labelled(run, virtual, [type], { metadataOnly: true })));
  const removed: Removal[] = [];
  for (const [index, list] of lists.entries()) {
    // A type that can't be listed fails at its turn: what comes before it, rights above all, has gone by then.
    if (list.status === 'rejected') throw list.reason;
    const { remove } = planObjects([], list.value, memory, [types[index] as ResourceType]);
    await removeAll(virtual, remove).catch((error: unknown) => {
      // It has just answered: what does not let go is a webhook, of which a tenant may have any.
      throw isUnclear(error) || !answers(lists) ? error : new Obstructed(messageOf(error), { cause: error });
    });
    removed.push(...remove);
  }
  if (keepNamespaces && tenant) await keepMemory(run, memory, remember(memory, [], removed));
}

/** The workspace can be read, and does not let our objects go. */
class Obstructed extends Error {}

function answers(lists: readonly PromiseSettledResult<unknown>[]): boolean {
  return lists.some(({ status }) => status === 'fulfilled');
}
