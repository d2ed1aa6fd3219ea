import { NAMESPACES } from '../../shared/kube/resources.ts';
import type { ServiceObject } from '../../shared/model/kubernetes.ts';
import { formatObjectKey } from '../../shared/model/object-key.ts';
import { again, done, waiting } from '../../shared/events/outcome.ts';
import { reportTerminating } from '../../shared/status.ts';
import { type RequestIdentity, requestIdentities } from '../requests/desired.ts';
import { removeRequest } from '../requests/requests.ts';
import { removeStrays } from '../requests/strays.ts';
import { leaveWorkspace } from '../workspace/leave.ts';
import { flowPosition, mayBeInstalled } from '../step/flow.ts';
import { letGo } from '../step/let-go.ts';
import type { Marks } from '../step/marks.ts';
import { backToStart } from '../step/precondition.ts';
import type { Run, Step, StepResult } from '../step/run.ts';
import { CLAIM_RETRY_MS } from '../tuning.ts';

/**
 * Removes access in the promised order: workload (AccessRequest, then ClusterRequest), end user cluster, finalizer.
 * Requires: being deleted and uninstalled. How far it got is read from the clusters each time.
 */
export const accessTeardown: Step = async (object, run) => {
  const marks = await run.marks.read();
  if (flowPosition(object, run, marks) !== 'teardown') return backToStart;
  const pending = (await removeAccess(run, marks)) ?? (await leave(object, run, marks));
  if (pending) return pending;
  await letGo(run, object);
  return { outcome: done() };
};

/** What was ordered last goes first: names and labels lead to it, whatever the ProviderConfig says by now. */
async function removeAccess(run: Run, marks: Marks | undefined): Promise<StepResult | undefined> {
  const identities = requestIdentities(run.key, run.provider).toReversed();
  const mcp = identities.filter(({ id }) => id === 'mcp');
  const others = identities.filter(({ id }) => id !== 'mcp');
  const going =
    (await removeRequests(run, others)) ??
    // The end user cluster goes last of all: what withdrawn registrations left behind goes before it.
    (await removeStrays(run, marks?.holder, { all: true })) ??
    (await removeRequests(run, mcp));
  return going === undefined ? undefined : awaitDeletion(going);
}

/** @returns what is still on its way out */
async function removeRequests(run: Run, requests: readonly RequestIdentity[]): Promise<string | undefined> {
  for (const request of requests) {
    const removal = await removeRequest(run.platform, request, formatObjectKey(run.key));
    if (removal.state !== 'gone') return `${removal.kind} ${request.namespace}/${request.name}`;
  }
  return undefined;
}

/** @param what `<kind> <namespace>/<name>` */
function awaitDeletion(what: string): StepResult {
  const [kind] = what.split(' ');
  return {
    status: reportTerminating(`WaitingFor${kind}Deletion`, `Waiting for the deletion of ${what}`),
    outcome: waiting(`the deletion of ${what}`),
  };
}

/**
 * Nothing is kept for another object of the workspace that waits for its turn, since that may go without ever having had
 * one: it makes anew what it needs.
 */
async function leave(object: ServiceObject, run: Run, marks: Marks | undefined): Promise<StepResult | undefined> {
  if (!run.workspace) return undefined;
  const pending = await leaveWorkspace(run, run.workspace, object, { mayBeInstalled: mayBeInstalled(object, marks) });
  if (pending)
    return {
      status: reportTerminating(pending.reason, pending.message),
      outcome: again(pending.retryAfterMs ?? CLAIM_RETRY_MS, pending.reason),
    };
  if (marks && !marks.ending) {
    const { uid } = marks.holder.metadata;
    // With it ends the claim: only that which was read as ours.
    await run.platform.delete(NAMESPACES, run.tenantNamespace, { uid, resourceVersion: marks.resourceVersion });
  }
  return undefined;
}
