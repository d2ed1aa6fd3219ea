import { RUNTIME_CLAIMS } from '../../shared/kcp/claims.ts';
import type { ApiBinding } from '../../shared/kcp/bindings.ts';
import { missingClaims, unaskedClaims } from '../../shared/kcp/missing-claims.ts';
import { REASONS_BEFORE_INSTALL as REASON } from '../step/flow.ts';
import type { Run } from '../step/run.ts';
import type { Verdict } from '../step/verdict.ts';
import type { WorkspacePort } from '../../shared/kcp/workspace-port.ts';

/** What a tenant is told whose binding doesn't accept all that is needed; undefined when nothing is missing. */
export async function claimsVerdict(run: Run, workspace: WorkspacePort): Promise<Verdict | undefined> {
  const binding = await workspace.binding();
  const wanted = [...RUNTIME_CLAIMS, ...(run.provider.kcp?.permissionClaims ?? [])];
  const missing = missingClaims(binding?.status, wanted);
  if (missing.length === 0) return unaskedVerdict(binding);
  return {
    state: 'waiting',
    reason: REASON.claimNotAccepted,
    message:
      `The APIBinding ${binding?.metadata.name} does not accept the permission claim${missing.length > 1 ? 's' : ''} ` +
      `${missing.join(', ')} of the APIExport; accept what is in its status.exportPermissionClaims, verb by verb`,
  };
}

/** Nothing that a tenant could do: the bridge puts the export right, and the binding follows, which wakes the object. */
function unaskedVerdict(binding: ApiBinding | undefined): Verdict | undefined {
  const unasked = unaskedClaims(binding?.status, RUNTIME_CLAIMS);
  if (unasked.length === 0) return undefined;
  return {
    state: 'waiting',
    reason: REASON.waitingForWorkspaceAccess,
    message: `The provider's APIExport does not ask for ${unasked.join(', ')}; that is put right by the provider`,
  };
}
