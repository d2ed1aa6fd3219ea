import { setTimeout as sleep } from 'node:timers/promises';
import { isRuntimeError, RuntimeError } from '../../shared/errors.ts';
import { isDenied, isUnauthorized } from '../../shared/kube/api-error.ts';
import type { HttpKubeClient } from '../../shared/kube/client.ts';
import { kubeconfigFromSecret, parseKubeconfig } from '../../shared/kube/kubeconfig.ts';
import type { AccessSpec, Secret } from '../../shared/model/access.ts';
import type { Run } from '../step/run.ts';
import { bootstrapSecret, inWaves, workspaceNames, workspaceObjects } from './objects.ts';
import type { WorkspacePort } from '../../shared/kcp/workspace-port.ts';
import { pruneRoles } from './remove.ts';
import { TOKEN_POLL_MS, TOKEN_PATIENCE_MS } from '../tuning.ts';

export interface Token {
  readonly token: string;
  readonly issuedAt: Date;
  readonly expiresAt: Date;
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
  const review = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' };
  try {
    await inside(run, workspace, token).post('/apis/authentication.k8s.io/v1/selfsubjectreviews', review);
    return false;
  } catch (error) {
    if (isUnauthorized(error)) return true;
    run.log.debug({ err: error }, 'the token could not be checked');
    return false;
  }
}

/** A token of the workspace's ServiceAccount, asked for by one that it has already. */
export async function requestToken(run: Run, workspace: WorkspacePort, bearer: string): Promise<Token> {
  const { namespace, serviceAccount } = workspaceNames(run.provider.name);
  const issuedAt = run.now();
  const answer = await inside(run, workspace, bearer).post<{ status: { token: string; expirationTimestamp: string } }>(
    `/api/v1/namespaces/${namespace}/serviceaccounts/${serviceAccount}/token`,
    {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenRequest',
      spec: { expirationSeconds: workspace.tuning.tokenLifeSeconds },
    },
  );
  run.secrets.add(answer.status.token);
  return { token: answer.status.token, issuedAt, expiresAt: new Date(answer.status.expirationTimestamp) };
}

/** ServiceAccount, roles, bootstrap token, token; with nothing but what the claims grant. */
export async function bootstrapToken(run: Run, workspace: WorkspacePort, access: AccessSpec): Promise<Token> {
  const { virtual } = workspace;
  const objects = workspaceObjects(run.provider.name, access);
  for (const wave of inWaves(objects)) await Promise.all(wave.map(({ type, object }) => virtual.apply(type, object)));
  await pruneRoles(virtual, run.provider.name, objects);
  const { type, object } = bootstrapSecret(run.provider.name);
  const { name, namespace } = object.metadata;
  await virtual.apply(type, object);
  const first = await patiently(async () => {
    const encoded = (await virtual.get<Secret>(type, name, namespace))?.data?.['token'];
    return encoded ? Buffer.from(encoded, 'base64').toString('utf8') : undefined;
  });
  if (!first) throw new RuntimeError('NOT_READY', `kcp did not fill the Secret ${namespace}/${name} with a token`);
  run.secrets.add(first);
  const token = await patiently(() =>
    // The roles are a moment old: not every part of the server knows them yet.
    requestToken(run, workspace, first).catch((error: unknown) => {
      if (isDenied(error)) return undefined;
      throw error;
    }),
  );
  if (!token) {
    // Its token may be of a ServiceAccount that was there before: the next try begins with a new one.
    await virtual.delete(type, name, { namespace });
    throw new RuntimeError('NOT_READY', 'the workspace does not let our ServiceAccount ask for a token');
  }
  await virtual.delete(type, name, { namespace });
  return token;
}

function inside(run: Run, workspace: WorkspacePort, token: string): HttpKubeClient {
  return run.clients.clientFor(workspace.ownCredentials(token)).fenced(run.guard);
}

async function patiently<T>(attempt: () => Promise<T | undefined>): Promise<T | undefined> {
  const end = Date.now() + TOKEN_PATIENCE_MS;
  for (;;) {
    const result = await attempt();
    if (result !== undefined || Date.now() >= end) return result;
    await sleep(TOKEN_POLL_MS);
  }
}
