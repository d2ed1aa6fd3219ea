import { isDenied, isUnclear } from '../../shared/kube/api-error.ts';
import { formatKubeconfig } from '../../shared/kube/kubeconfig.ts';
import { SECRETS } from '../../shared/kube/resources.ts';
import type { AccessSpec, Secret } from '../../shared/model/access.ts';
import type { ServiceObject } from '../../shared/model/kubernetes.ts';
import { formatObjectKey } from '../../shared/model/object-key.ts';
import { MANAGED_BY_LABEL, OBJECT_ANNOTATION, RUNTIME_LABEL, shortenName } from '../../shared/names.ts';
import { isDeleting } from '../../shared/status.ts';
import { REASONS_BEFORE_INSTALL as REASON } from '../step/flow.ts';
import type { Run } from '../step/run.ts';
import type { Verdict } from '../step/verdict.ts';
import { claimsVerdict } from './claims.ts';
import {
  decideWorkspaceAccess,
  EXPIRES_AT_ANNOTATION,
  PERMISSIONS_ANNOTATION,
  RENEW_AT_ANNOTATION,
  renewalTime,
  type WorkspaceAccessDecision,
} from './decide.ts';
import { lookAtGround } from './ground.ts';
import { permissionsHash, workspaceSecret } from './objects.ts';
import type { WorkspacePort } from '../../shared/kcp/workspace-port.ts';
import { bootstrapToken, isRejected, requestToken, type Token, tokenIn } from './token.ts';

function wantedOf(run: Run, access: AccessSpec) {
  return { object: formatObjectKey(run.key), permissions: permissionsHash(run.provider.name, access) };
}

/** What is to be done, with the token's own word where the answer depends on it. */
async function look(
  run: Run,
  workspace: WorkspacePort,
  access: AccessSpec,
  options: { checkToken: boolean },
): Promise<{ decision: WorkspaceAccessDecision; token: string | undefined }> {
  const { name, namespace } = workspaceSecret(run);
  const secret = await run.platform.get<Secret>(SECRETS, name, namespace);
  const decision = decideWorkspaceAccess(secret, wantedOf(run, access), run.now());
  if (!secret || (decision.do !== 'use' && decision.do !== 'renew')) return { decision, token: undefined };
  const token = tokenIn(run, secret);
  if (token === undefined) return { decision: { do: 'bootstrap', why: 'the kubeconfig holds no token' }, token };
  if (options.checkToken && (await isRejected(run, workspace, token)))
    return { decision: { do: 'bootstrap', why: 'the workspace rejects the token' }, token };
  return { decision, token };
}

/**
 * What is there, without changing anything. A token that is due for renewal still counts as granted. For an object that
 * is being deleted also whether its workspace takes the token, and whether it is on its way out itself.
 */
export async function judgeWorkspaceAccess(
  run: Run,
  workspace: WorkspacePort,
  object: ServiceObject,
  access: AccessSpec,
): Promise<Verdict> {
  if (workspace.gone) return LEAVING;
  const { decision } = await look(run, workspace, access, { checkToken: isDeleting(object) });
  if (decision.do === 'use') return granted(run, decision.renewAt);
  if (decision.do === 'renew') return granted(run, run.now());
  if (isDeleting(object) && (await lookAtGround(run, workspace, object)) === 'leaving') return LEAVING;
  return waitFor('the workspace access is not there yet');
}

/**
 * Sees to it that the platform cluster holds a kubeconfig of the tenant's workspace with exactly the declared
 * permissions, good for a while. One that the workspace rejects is replaced.
 */
export async function ensureWorkspaceAccess(
  run: Run,
  workspace: WorkspacePort,
  object: ServiceObject,
  access: AccessSpec,
): Promise<Verdict> {
  if (workspace.gone) return LEAVING;
  const { decision, token } = await look(run, workspace, access, { checkToken: true });
  // Renewal needs no claim: workloads keep their access while a tenant makes up his mind.
  const kept = await keep(run, workspace, access, decision, token);
  if (isDeleting(object)) return kept ?? makeForDeletion(run, workspace, object, access);
  return (await claimsVerdict(run, workspace)) ?? kept ?? make(run, workspace, access);
}

/** Access that is there, renewed where that is due; undefined where it has to be made. */
async function keep(
  run: Run,
  workspace: WorkspacePort,
  access: AccessSpec,
  decision: WorkspaceAccessDecision,
  token: string | undefined,
): Promise<Verdict | undefined> {
  switch (decision.do) {
    case 'use':
      return granted(run, decision.renewAt);
    case 'wait':
      return waitFor(decision.message, 1_000);
    case 'bootstrap':
      run.log.info({ why: decision.why }, 'workspace access has to be made');
      return undefined;
    case 'renew':
      try {
        const next = await requestToken(run, workspace, token ?? '');
        run.log.info({ expiresAt: next.expiresAt }, 'workspace token renewed');
        return await store(run, workspace, access, next);
      } catch (error) {
        if (!isDenied(error)) throw error;
        run.log.info('the token was rejected; starting over');
        return undefined;
      }
  }
}

/** In a workspace that goes away nothing is made any more. */
async function makeForDeletion(
  run: Run,
  workspace: WorkspacePort,
  object: ServiceObject,
  access: AccessSpec,
): Promise<Verdict> {
  switch (await lookAtGround(run, workspace, object)) {
    case 'leaving':
      return LEAVING;
    case 'unsettled':
      return (await claimsVerdict(run, workspace)) ?? waitFor(NAMESPACE_TERMINATING, 1_000);
    case 'there':
      return make(run, workspace, access);
  }
}

async function make(run: Run, workspace: WorkspacePort, access: AccessSpec): Promise<Verdict> {
  try {
    return await store(run, workspace, access, await bootstrapToken(run, workspace, access));
  } catch (error) {
    if (!isUnclear(error)) throw error;
    if (/being terminated/.test(error.message)) return waitFor(NAMESPACE_TERMINATING, 1_000);
    // Accepted, or taken back, a moment ago: the binding says so before, or after, it is in force.
    return (
      (await claimsVerdict(run, workspace)) ?? {
        state: 'waiting',
        reason: REASON.claimNotAccepted,
        message: `The workspace refuses what its APIBinding accepts: ${error.message}`,
        retryAfterMs: 1_000,
      }
    );
  }
}

async function store(run: Run, workspace: WorkspacePort, access: AccessSpec, token: Token): Promise<Verdict> {
  const reference = workspaceSecret(run);
  const wanted = wantedOf(run, access);
  const renewAt = renewalTime(token.issuedAt, token.expiresAt, workspace.tuning.renewalThreshold);
  await run.platform.apply<Secret>(SECRETS, {
    metadata: {
      name: reference.name,
      namespace: reference.namespace,
      labels: {
        [RUNTIME_LABEL]: run.provider.name,
        [MANAGED_BY_LABEL]: shortenName(run.provider.controllerName),
      },
      annotations: {
        [OBJECT_ANNOTATION]: wanted.object,
        [PERMISSIONS_ANNOTATION]: wanted.permissions,
        [EXPIRES_AT_ANNOTATION]: token.expiresAt.toISOString(),
        [RENEW_AT_ANNOTATION]: renewAt.toISOString(),
      },
    },
    type: 'Opaque',
    data: {
      [reference.key]: Buffer.from(formatKubeconfig(workspace.credentials(token.token))).toString('base64'),
    },
  });
  return granted(run, renewAt);
}

const NAMESPACE_TERMINATING = 'The namespace of an earlier access is still being removed from the workspace';
const LEAVING: Verdict = { state: 'gone', message: 'The workspace is on its way out; its content goes with it' };

function granted(run: Run, renewAt: Date): Verdict {
  return { state: 'granted', secret: workspaceSecret(run), renewAt };
}

function waitFor(message: string, retryAfterMs?: number): Verdict {
  const verdict = { state: 'waiting', reason: REASON.waitingForWorkspaceAccess, message } as const;
  return retryAfterMs === undefined ? verdict : { ...verdict, retryAfterMs };
}
