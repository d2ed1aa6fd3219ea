import { RuntimeError } from '../../shared/errors.ts';
import type { WorkspacePort } from '../../shared/kcp/workspace-port.ts';
import { isUnclear } from '../../shared/kube/api-error.ts';
import { NAMESPACES, SECRETS, SERVICE_ACCOUNTS } from '../../shared/kube/resources.ts';
import type { AccessSpec, Secret } from '../../shared/model/access.ts';
import type { KubeObject, ResourceType, ServiceObject } from '../../shared/model/kubernetes.ts';
import { isDeleting } from '../../shared/status.ts';
import { REASONS_BEFORE_INSTALL as REASON } from '../step/flow.ts';
import type { Run } from '../step/run.ts';
import type { Verdict } from '../step/verdict.ts';
import { TOKEN_RETRY_MS } from '../tuning.ts';
import { claimsVerdict } from './claims.ts';
import { decideWorkspaceAccess, type WorkspaceAccessDecision } from './decide.ts';
import { isSettled, type Memory, objectId, planObjects, RIGHTS } from './decide-objects.ts';
import { lookAtGround } from './ground.ts';
import { memoryOf } from './memory.ts';
import { granted, store, tokenSecretsOf, wantedOf } from './kubeconfig-secret.ts';
import { workspaceNames, workspaceObjects } from './objects.ts';
import { workspaceSecret } from '../requests/desired.ts';
import { withinLimit } from './limit.ts';
import { labelled, settleObjects } from './settle-objects.ts';
import { endTokens, isRejected, mintToken, removeLeftovers, tokenIn } from './token.ts';

/** Looked at in each pass. */
const HELD: readonly ResourceType[] = [...RIGHTS, SERVICE_ACCOUNTS];

/** What is to be done, with the token's own word where the answer depends on it. */
async function look(
  run: Run,
  workspace: WorkspacePort,
  access: AccessSpec,
  options: { checkToken: boolean },
): Promise<{ decision: WorkspaceAccessDecision; secret: Secret | undefined }> {
  const { name, namespace } = workspaceSecret(run);
  const secret = await run.platform.get<Secret>(SECRETS, name, namespace);
  const decision = decideWorkspaceAccess(secret, wantedOf(run, access), run.now());
  if (!secret || (decision.do !== 'use' && decision.do !== 'renew')) return { decision, secret };
  const token = tokenIn(run, secret);
  if (token === undefined) return { decision: { do: 'bootstrap', why: 'the kubeconfig holds no token' }, secret };
  if (options.checkToken && (await isRejected(run, workspace, token)))
    return { decision: { do: 'bootstrap', why: 'the workspace rejects the token' }, secret };
  return { decision, secret };
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
 * permissions, good for a while, and that exactly those rights are in the workspace. A token that the workspace rejects
 * is replaced.
 * @param namespace the tenant namespace, which remembers what was made
 */
export async function ensureWorkspaceAccess(
  run: Run,
  given: WorkspacePort,
  object: ServiceObject,
  access: AccessSpec,
  namespace: KubeObject | undefined,
): Promise<Verdict> {
  if (given.gone) return LEAVING;
  const workspace = withinLimit(given, run);
  const { secret, decision } = await look(run, workspace, access, { checkToken: true });
  if (decision.do === 'wait') return waitFor(decision.message, 1_000);
  if (decision.do === 'bootstrap') run.log.info({ why: decision.why }, 'workspace access has to be made');
  const pass: Pass = { run, workspace, access, secret, memory: memoryOf(namespace, secret !== undefined) };
  return isDeleting(object) ? ensureForDeletion(pass, object, decision) : ensureForInstall(pass, decision);
}

interface Pass {
  readonly run: Run;
  readonly workspace: WorkspacePort;
  readonly access: AccessSpec;
  /** The kubeconfig Secret. */
  readonly secret: Secret | undefined;
  readonly memory: Memory;
}

type Usable = Extract<WorkspaceAccessDecision, { do: 'use' | 'renew' | 'bootstrap' }>;

async function ensureForInstall(pass: Pass, decision: Usable): Promise<Verdict> {
  const { run, workspace } = pass;
  const missing = await claimsVerdict(run, workspace);
  if (missing) return missing;
  return inWorkspace(pass, async () => {
    if (decision.do === 'use') return (await keepRights(pass)) ?? granted(run, decision.renewAt);
    const made = await make(pass);
    // The old token is good for a while still: nobody has to stop working.
    return decision.do === 'renew' && made === NOT_YET ? granted(run, soon(run)) : made;
  });
}

/** In a workspace that goes away nothing is made any more, and what can't be put right there is left as it is. */
async function ensureForDeletion(pass: Pass, object: ServiceObject, decision: Usable): Promise<Verdict> {
  const { run, workspace } = pass;
  if (decision.do !== 'bootstrap') {
    const attempt = async (): Promise<Verdict | undefined> =>
      decision.do === 'use' ? await keepRights(pass) : await make(pass);
    const result = await attempt().catch((error: unknown) => {
      if (!isUnclear(error)) throw error;
      run.log.info({ err: error }, 'rights in the workspace stay as they are');
      return undefined;
    });
    if (result?.state === 'granted') return result;
    return granted(run, decision.do === 'use' ? decision.renewAt : soon(run));
  }
  switch (await lookAtGround(run, workspace, object)) {
    case 'leaving':
      return LEAVING;
    case 'unsettled':
      return (await claimsVerdict(run, workspace)) ?? waitFor(NAMESPACE_TERMINATING, 1_000);
    case 'there':
      return inWorkspace(pass, () => make(pass));
  }
}

/** What the answers of a workspace mean that refuses something. */
async function inWorkspace({ run, workspace }: Pass, attempt: () => Promise<Verdict>): Promise<Verdict> {
  try {
    return await attempt();
  } catch (error) {
    if (!isUnclear(error)) throw error;
    if (/being terminated/.test(error.message)) return waitFor(NAMESPACE_TERMINATING, 1_000);
    // Accepted, or taken back, a moment ago: the binding says so before, or after, it is in force.
    const missing = await claimsVerdict(run, workspace);
    if (missing) return missing;
    const message = `The workspace refuses what its APIBinding accepts: ${error.message}`;
    throw new RuntimeError('NOT_READY', message, { cause: error });
  }
}

/**
 * Nothing is written where all is as it has to be.
 * @returns undefined where the token is good as before
 */
async function keepRights(pass: Pass): Promise<Verdict | undefined> {
  const { run, workspace, access, secret, memory: before } = pass;
  const { virtual } = workspace;
  const [current] = tokenSecretsOf(secret);
  const wanted = workspaceObjects(run.provider.name, access);
  const [held, secrets] = await Promise.all([
    labelled(run, virtual, HELD),
    removeLeftovers(run, workspace, before, tokenSecretsOf(secret)),
  ]);
  let memory = before;
  if (before.byLabel || !isSettled(planObjects(wanted, held, before, HELD), before)) {
    const seen = [...held, ...(await labelled(run, virtual, [NAMESPACES]))];
    const settled = await settleObjects(run, virtual, wanted, [...HELD, NAMESPACES], seen, before);
    if (settled.inTheWay) return settled.inTheWay;
    memory = settled.memory;
  }
  // A server goes on for some seconds with a token that has ended with its Secret or its account.
  const ended = current !== undefined && !secrets.some(({ metadata }) => metadata.uid === current.uid);
  return ended || accountIn(run, memory) !== accountIn(run, before) ? mint({ ...pass, memory }) : undefined;
}

function accountIn(run: Run, { uids }: Memory): string | undefined {
  const { serviceAccount: name, namespace } = workspaceNames(run.provider.name);
  return uids[objectId(SERVICE_ACCOUNTS, { name, namespace })];
}

async function make(pass: Pass): Promise<Verdict> {
  const { run, access, memory: before } = pass;
  const { virtual } = pass.workspace;
  const types = [...HELD, NAMESPACES];
  const seen = await labelled(run, virtual, types);
  const wanted = workspaceObjects(run.provider.name, access);
  const { inTheWay, memory } = await settleObjects(run, virtual, wanted, types, seen, before);
  return inTheWay ?? mint({ ...pass, memory });
}

async function mint({ run, workspace, access, secret, memory }: Pass): Promise<Verdict> {
  const [, ...ended] = tokenSecretsOf(secret);
  const token = await mintToken(run, workspace, memory, tokenSecretsOf(secret));
  if (!token) return NOT_YET;
  const verdict = await store(run, workspace, access, token, secret);
  // Who had the one before the last has had the last since.
  await endTokens(run, workspace, ended);
  return verdict;
}

const NAMESPACE_TERMINATING = 'The namespace of an earlier access is still being removed from the workspace';
const NOT_YET = waitFor('The workspace is preparing the access', TOKEN_RETRY_MS);
const LEAVING: Verdict = { state: 'gone', message: 'The workspace is on its way out; its content goes with it' };

function soon(run: Run): Date {
  return new Date(run.now().getTime() + TOKEN_RETRY_MS);
}

function waitFor(message: string, retryAfterMs?: number): Verdict {
  const verdict = { state: 'waiting', reason: REASON.waitingForWorkspaceAccess, message } as const;
  return retryAfterMs === undefined ? verdict : { ...verdict, retryAfterMs };
}
