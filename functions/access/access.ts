import { isRuntimeError, messageOf, RuntimeError } from '../../shared/errors.ts';
import type { AccessSpec } from '../../shared/model/access.ts';
import type { ServiceObject } from '../../shared/model/kubernetes.ts';
import { formatObjectKey } from '../../shared/model/object-key.ts';
import type { ServiceObjectOf } from '../provider.ts';
import type { Run } from '../run.ts';
import { type DesiredRequest, desiredMcpRequest, desiredWorkloadRequest } from './desired.ts';
import { ensureRequest, judgeRequest } from './requests.ts';
import { type AccessVerdicts, grantedAccess } from './verdict.ts';
import { ensureTenantNamespace, ensureWorkspaceAccess, judgeWorkspaceAccess } from './workspace/ensure.ts';

/** Permissions that the provider declares for an object, fixed or computed. */
export interface DeclaredAccess {
  mcp: AccessSpec;
  workload: AccessSpec;
}

/** @throws RuntimeError `INVALID_PROVIDER` where the provider's own function throws */
export function declaredAccess(run: Run, object: ServiceObject): DeclaredAccess {
  const config = run.config.state === 'ok' ? run.config.config : undefined;
  const of = (cluster: 'mcp' | 'workload'): AccessSpec => {
    const declared = run.provider.access[cluster];
    if (typeof declared !== 'function') return declared;
    try {
      return declared(object as unknown as ServiceObjectOf<unknown>, config);
    } catch (error) {
      if (isRuntimeError(error, 'INVALID_PROVIDER')) throw error;
      throw new RuntimeError('INVALID_PROVIDER', `access.${cluster}: ${messageOf(error)}`, { cause: error });
    }
  };
  return { mcp: of('mcp'), workload: of('workload') };
}

/** The requests on the platform cluster that an object needs; in kcp mode the end user cluster takes none. */
export function desiredRequests(run: Run, access: DeclaredAccess): { mcp?: DesiredRequest; workload?: DesiredRequest } {
  const { key, provider } = run;
  return {
    ...(key.mode === 'standard' ? { mcp: desiredMcpRequest(key, provider, access.mcp) } : {}),
    ...(provider.workloadCluster ? { workload: desiredWorkloadRequest(key, provider, access.workload) } : {}),
  };
}

/**
 * Takes every step towards the access that can be taken now.
 * @param options.keepTerminating for an object that is being deleted: a request on its way out is not ordered again
 */
export async function ensureAccess(
  run: Run,
  object: ServiceObject,
  options: { keepTerminating: boolean },
): Promise<AccessVerdicts> {
  if (options.keepTerminating && !run.workspace) {
    // Looked at as a whole first: where the removal of one has begun, nothing is ordered in place of another that has
    // gone already.
    const seen = await judgeAccess(run, object);
    const going = [seen.mcp, seen.workload].some((verdict) => verdict?.state === 'terminating');
    if (going || grantedAccess(seen)) return seen;
  }
  const declared = declaredAccess(run, object);
  const requests = desiredRequests(run, declared);
  const annotation = formatObjectKey(run.key);
  const ensure = (request: DesiredRequest) => ensureRequest(run.platform, request, annotation, options.keepTerminating);
  if (run.workspace) {
    await ensureTenantNamespace(run);
    // The workload cluster takes longest: ordered first, it is granted while the workspace is prepared.
    const workload = requests.workload && (await ensure(requests.workload));
    return { mcp: await ensureWorkspaceAccess(run, run.workspace, declared.mcp), workload };
  }
  const mcp = await ensure(requests.mcp as DesiredRequest);
  // Without a ControlPlane nothing at all is created, not even a workload cluster.
  if (mcp.state === 'waiting' && mcp.nothingCreated) return { mcp, workload: undefined };
  return { mcp, workload: requests.workload && (await ensure(requests.workload)) };
}

/** The same verdicts as {@link ensureAccess}, without changing anything. */
export async function judgeAccess(run: Run, object: ServiceObject): Promise<AccessVerdicts> {
  const declared = declaredAccess(run, object);
  const requests = desiredRequests(run, declared);
  const annotation = formatObjectKey(run.key);
  const judge = (request: DesiredRequest) => judgeRequest(run.platform, request, annotation);
  const [mcp, workload] = await Promise.all([
    requests.mcp ? judge(requests.mcp) : judgeWorkspaceAccess(run, declared.mcp),
    requests.workload && judge(requests.workload),
  ]);
  return { mcp, workload };
}
