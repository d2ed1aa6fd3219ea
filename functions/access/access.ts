import type { KubeObject, ServiceObject } from '../../shared/model/kubernetes.ts';
import { formatObjectKey } from '../../shared/model/object-key.ts';
import type { Run } from '../step/run.ts';
import { isDeleting } from '../../shared/status.ts';
import { declare, tokenAccess } from '../requests/declared.ts';
import type { DesiredRequest } from '../requests/desired.ts';
import { ensureRequest, judgeRequest } from '../requests/requests.ts';
import { type AccessVerdicts, grantedAccess, someTerminating, type Verdict } from '../step/verdict.ts';
import { ensureWorkspaceAccess, judgeWorkspaceAccess } from '../workspace/ensure.ts';

/**
 * Takes every step towards the access that can be taken now.
 * For an object that is being deleted a request of another runtime that is on its way out is not ordered again.
 * @param options.namespace the tenant namespace of a workspace, which the object has claimed
 */
export async function ensureAccess(
  run: Run,
  object: ServiceObject,
  options: { namespace?: KubeObject | undefined } = {},
): Promise<AccessVerdicts> {
  const deleting = isDeleting(object);
  if (deleting && !run.workspace) {
    // Looked at as a whole first: where another runtime began to remove one, nothing is ordered in place of one that has
    // gone already.
    const seen = await judgeAccess(run, object);
    if (someTerminating(seen) || grantedAccess(seen)) return seen;
  }
  const declared = await declare(run, object);
  const annotation = formatObjectKey(run.key);
  const ensure = async (request: DesiredRequest): Promise<[string, Verdict]> => [
    request.id,
    await ensureRequest(run.platform, request, annotation, deleting),
  ];
  if (run.workspace) {
    const { workspace } = run;
    // Clusters take longest: ordered first, they are granted while the workspace is prepared.
    const ordered = await Promise.all(declared.requests.map(ensure));
    const access = tokenAccess(declared.mcp);
    return verdicts(await ensureWorkspaceAccess(run, workspace, object, access, options.namespace), ordered);
  }
  const [first, ...others] = declared.requests as [DesiredRequest, ...DesiredRequest[]];
  const [, mcp] = await ensure(first);
  // Without a ControlPlane nothing at all is created, not even a workload cluster.
  if (mcp.state === 'waiting' && mcp.nothingCreated) return verdicts(mcp, []);
  return verdicts(mcp, await Promise.all(others.map(ensure)));
}

/** The same verdicts as {@link ensureAccess}, without changing anything. */
export async function judgeAccess(run: Run, object: ServiceObject): Promise<AccessVerdicts> {
  const declared = await declare(run, object);
  const annotation = formatObjectKey(run.key);
  const judged = await Promise.all(
    declared.requests.map(async (request): Promise<[string, Verdict]> => [
      request.id,
      await judgeRequest(run.platform, request, annotation, isDeleting(object)),
    ]),
  );
  if (run.workspace)
    return verdicts(await judgeWorkspaceAccess(run, run.workspace, object, tokenAccess(declared.mcp)), judged);
  const [[, mcp], ...others] = judged as [[string, Verdict], ...[string, Verdict][]];
  return verdicts(mcp, others);
}

function verdicts(mcp: Verdict, others: [string, Verdict][]): AccessVerdicts {
  const { workload, ...clusters } = Object.fromEntries(others);
  return { mcp, workload, ...(Object.keys(clusters).length > 0 ? { clusters } : {}) };
}
