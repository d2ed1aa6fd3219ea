import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { isRuntimeError } from '../../shared/errors.ts';
import type { WorkspacePort } from '../../shared/kcp/workspace-port.ts';
import { isDenied, isUnauthorized } from '../../shared/kube/api-error.ts';
import type { HttpKubeClient } from '../../shared/kube/client.ts';
import { kubeconfigFromSecret, parseKubeconfig } from '../../shared/kube/kubeconfig.ts';
import type { KubeClient } from '../../shared/kube/ports.ts';
import { SECRETS } from '../../shared/kube/resources.ts';
import type { Secret } from '../../shared/model/access.ts';
import type { KubeObject } from '../../shared/model/kubernetes.ts';
import { RUNTIME_LABEL } from '../../shared/names.ts';
import { WORKSPACE_REQUEST_MS } from '../../shared/tuning.ts';
import type { Run } from '../step/run.ts';
import { BOOTSTRAP_LIFE_MS, TOKEN_PATIENCE_MS, TOKEN_POLL_MS } from '../tuning.ts';
import { grantedLifeMs } from './decide.ts';
import { marked, type Memory } from './decide-objects.ts';
import { planTokenSecrets, type TokenSecret } from './decide-token-secrets.ts';
import { bootstrapSecret, tokenSecret, workspaceNames } from './objects.ts';
import { removeAll } from './settle-objects.ts';

export interface Token {
  readonly token: string;
  readonly issuedAt: Date;
  readonly expiresAt: Date;
  /** It ends with this. */
  readonly boundTo: TokenSecret;
}

/** The token in the kubeconfig Secret; undefined where somebody has spoilt it. */
export function tokenIn(run: Run, secret: Secret): string | undefined {
  const where = `${secret.metadata.namespace}/${secret.metadata.name}`;
  try {
    const { token } = parseKubeconfig(kubeconfigFromSecret(secret, where), where);
    if (token) run.secrets.add(token);
    return token;
  } catch (error) {
    if (isRuntimeError(error, 'INVALID_KUBECONFIG')) return undefined;
    throw error;
  }
}

/**
 * Whether the workspace does not know the token any more, asked in the workspace itself: its ServiceAccount may have been
 * deleted. An answer that says nothing about the token, a 403 included, counts for it.
 */
export async function isRejected(run: Run, workspace: WorkspacePort, token: string): Promise<boolean> {
  try {
    await review(run, workspace, token);
    return false;
  } catch (error) {
    if (isUnauthorized(error)) return true;
    run.log.debug({ err: error }, 'the token could not be checked');
    return false;
  }
}

async function review(run: Run, workspace: WorkspacePort, token: string): Promise<void> {
  const self = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' };
  await inside(run, workspace, token).post('/apis/authentication.k8s.io/v1/selfsubjectreviews', self);
}

/**
 * A token for workloads that ends with a Secret of its own in the workspace. It is made by the issuer, whose token kcp puts
 * into a bootstrap Secret that is gone before the new token is handed out.
 * @param inUse Secrets of the tokens that are handed out
 * @returns undefined where the workspace needs longer than an invocation should wait; the next one goes on from there
 */
export async function mintToken(
  run: Run,
  workspace: WorkspacePort,
  memory: Memory,
  inUse: readonly TokenSecret[],
): Promise<Token | undefined> {
  const { virtual } = workspace;
  const patience = patienceOf(TOKEN_PATIENCE_MS);
  const secrets = await listSecrets(run, virtual);
  const { bootstrap, unused, remove } = planTokenSecrets(run.provider.name, secrets, memory, inUse, {
    minting: true,
    now: run.now(),
    bootstrapLifeMs: BOOTSTRAP_LIFE_MS,
  });
  await removeAll(virtual, remove);
  const make = (nameOf: typeof bootstrapSecret): Promise<KubeObject> => {
    const { type, object } = marked(memory, nameOf(run.provider.name, randomBytes(4).toString('hex')));
    return virtual.create(type, object);
  };
  const source = bootstrap ?? (await make(bootstrapSecret));
  const { name, namespace, uid = '' } = source.metadata;
  const issuer = await patience(async () => {
    const encoded = (await virtual.get<Secret>(SECRETS, name, namespace))?.data?.['token'];
    return encoded ? Buffer.from(encoded, 'base64').toString('utf8') : undefined;
  });
  if (!issuer) return undefined;
  run.secrets.add(issuer);
  const { metadata } = unused ?? (await make(tokenSecret));
  const boundTo = { name: metadata.name, uid: metadata.uid ?? '' };
  const token = await patience(() =>
    // The rights are a moment old: not every part of the server knows them yet.
    requestToken(run, workspace, issuer, boundTo).catch((error: unknown) => {
      if (isDenied(error)) return undefined;
      throw error;
    }),
  );
  if (!token || !(await patience(() => isAccepted(run, workspace, token.token)))) return undefined;
  await removeAll(virtual, [{ type: SECRETS, name, namespace, uid }]);
  return token;
}

/** Removes what an earlier pass that was interrupted has left behind. @returns our Secrets, with those */
export async function removeLeftovers(
  run: Run,
  { virtual }: WorkspacePort,
  memory: Memory,
  inUse: readonly TokenSecret[],
): Promise<readonly KubeObject[]> {
  const options = { minting: false, now: run.now(), bootstrapLifeMs: 0 };
  const secrets = await listSecrets(run, virtual);
  await removeAll(virtual, planTokenSecrets(run.provider.name, secrets, memory, inUse, options).remove);
  return secrets;
}

/** Ends tokens: the workspace refuses them some seconds later. */
export function endTokens(run: Run, { virtual }: WorkspacePort, ended: readonly TokenSecret[]): Promise<void> {
  const { namespace } = workspaceNames(run.provider.name);
  return removeAll(
    virtual,
    ended.map((each) => ({ type: SECRETS, namespace, ...each })),
  );
}

async function listSecrets(run: Run, virtual: KubeClient): Promise<KubeObject[]> {
  const { namespace } = workspaceNames(run.provider.name);
  const labelSelector = `${RUNTIME_LABEL}=${run.provider.name}`;
  return (await virtual.list(SECRETS, { namespace, labelSelector, metadataOnly: true })).items;
}

/** Whether who has the token may enter: then it has the other rights as well, which were given before that one. */
async function isAccepted(run: Run, workspace: WorkspacePort, token: string): Promise<true | undefined> {
  try {
    await review(run, workspace, token);
    return true;
  } catch (error) {
    if (isDenied(error)) return undefined;
    throw error;
  }
}

async function requestToken(run: Run, workspace: WorkspacePort, bearer: string, boundTo: TokenSecret): Promise<Token> {
  const { namespace, serviceAccount } = workspaceNames(run.provider.name);
  const issuedAt = run.now();
  const answer = await inside(run, workspace, bearer).post<{ status: { token: string; expirationTimestamp: string } }>(
    `/api/v1/namespaces/${namespace}/serviceaccounts/${serviceAccount}/token`,
    {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenRequest',
      spec: {
        expirationSeconds: workspace.tuning.tokenLifeSeconds,
        boundObjectRef: { apiVersion: 'v1', kind: 'Secret', ...boundTo },
      },
    },
  );
  run.secrets.add(answer.status.token);
  const { token, expirationTimestamp } = answer.status;
  const lifeMs = grantedLifeMs(token);
  // Times of kcp are not compared with ours, whoever's clock is wrong.
  const expiresAt = new Date(lifeMs === undefined ? expirationTimestamp : issuedAt.getTime() + lifeMs);
  return { token, issuedAt, expiresAt, boundTo };
}

function inside(run: Run, workspace: WorkspacePort, token: string): HttpKubeClient {
  return run.clients
    .clientFor(workspace.ownCredentials(token))
    .within(WORKSPACE_REQUEST_MS)
    .fenced(run.guard, run.lost);
}

/** Tries again until there is a result, all attempts together for no longer than this. */
function patienceOf(limitMs: number): <T>(attempt: () => Promise<T | undefined>) => Promise<T | undefined> {
  const end = performance.now() + limitMs;
  return async (attempt) => {
    for (;;) {
      const result = await attempt();
      if (result !== undefined || performance.now() >= end) return result;
      await sleep(TOKEN_POLL_MS);
    }
  };
}
