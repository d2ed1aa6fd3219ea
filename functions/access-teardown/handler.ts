import { removeFinalizerPatch } from '../../shared/finalizers.ts';
import { isNotFound } from '../../shared/kube/api-error.ts';
import { NAMESPACES } from '../../shared/kube/resources.ts';
import type { ServiceObject } from '../../shared/model/kubernetes.ts';
import { formatObjectKey } from '../../shared/model/object-key.ts';
import { done, waiting } from '../../shared/model/outcome.ts';
import { reportTerminating } from '../../shared/status.ts';
import { desiredRequests } from '../access/access.ts';
import type { DesiredRequest } from '../access/desired.ts';
import { removeRequest } from '../access/requests.ts';
import { removeWorkspaceAccess } from '../access/workspace/remove.ts';
import { flowPosition } from '../flow.ts';
import { backToStart } from '../precondition.ts';
import type { Run, Step, StepResult } from '../run.ts';

/**
 * Removes access in the promised order: workload (AccessRequest, then ClusterRequest), end user cluster, finalizer.
 * Requires: being deleted and Uninstalled. How far it got is read from the clusters each time.
 */
export const accessTeardown: Step = async (object, run) => {
  if (flowPosition(object, run.provider.finalizer) !== 'teardown') return backToStart;
  // Names and labels lead to the requests; the permissions in them do not matter any more.
  const requests = desiredRequests(run, { mcp: {}, workload: {} });
  const pending =
    (await remove(run, requests.workload)) ?? (await remove(run, requests.mcp)) ?? (await leaveWorkspace(object, run));
  if (pending) return pending;
  await removeFinalizer(object, run);
  return { outcome: done() };
};

async function remove(run: Run, request: DesiredRequest | undefined): Promise<StepResult | undefined> {
  if (!request) return undefined;
  const removal = await removeRequest(run.platform, request, formatObjectKey(run.key));
  if (removal.state === 'gone') return undefined;
  const what = `${removal.kind} ${request.namespace}/${request.name}`;
  return {
    status: reportTerminating(`WaitingFor${removal.kind}Deletion`, `Waiting for the deletion of ${what}`),
    outcome: waiting(`the deletion of ${what}`),
  };
}

async function leaveWorkspace(object: ServiceObject, run: Run): Promise<undefined> {
  if (!run.workspace) return undefined;
  const { items } = await run.home.list(run.provider.api.type, { metadataOnly: true });
  const others = items.some((each) => each.metadata.uid !== object.metadata.uid);
  await removeWorkspaceAccess(run, run.workspace, others);
  if (!others) await run.platform.delete(NAMESPACES, run.tenantNamespace);
  return undefined;
}

async function removeFinalizer(object: ServiceObject, run: Run): Promise<void> {
  const { finalizer, api } = run.provider;
  try {
    await run.home.mergePatch(api.type, object.metadata.name, removeFinalizerPatch(object, finalizer), {
      namespace: object.metadata.namespace,
    });
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}
