import { setTimeout as sleep } from 'node:timers/promises';
import { RuntimeError } from '../../../shared/errors.ts';
import { ApiError, isDenied } from '../../../shared/kube/api-error.ts';
import { formatKubeconfig, kubeconfigFromSecret, parseKubeconfig } from '../../../shared/kube/kubeconfig.ts';
import { NAMESPACES, SECRETS } from '../../../shared/kube/resources.ts';
import type { AccessSpec, Secret } from '../../../shared/model/access.ts';
import { formatObjectKey } from '../../../shared/model/object-key.ts';
import { MANAGED_BY_LABEL, OBJECT_ANNOTATION, RUNTIME_LABEL, shortenName } from '../../../shared/names.ts';
import { REASONS_BEFORE_INSTALL as REASON } from '../../flow.ts';
import type { Run } from '../../run.ts';
import type { Verdict } from '../verdict.ts';
import {
  decideWorkspaceAccess,
  EXPIRES_AT_ANNOTATION,
  PERMISSIONS_ANNOTATION,
  RENEW_AT_ANNOTATION,
  renewalTime,
  type WorkspaceAccessDecision,
} from './decide.ts';
import { bootstrapSecret, permissionsHash, workspaceNames, workspaceObjects, workspaceSecret } from './objects.ts';
import type { WorkspacePort } from './port.ts';
import { pruneRoles } from './remove.ts';

/** Asked for; the server may grant less, and its answer counts. */
const TOKEN_LIFE_SECONDS = 7 * 24 * 3600;
const POLL_MS = 50;
/** kcp fills a bootstrap Secret, and knows of new roles, within a second. */
const PATIENCE_MS = 8_000;

interface Token {
  token: string;
  issuedAt: Date;
  expiresAt: Date;
}

function wantedOf(run: Run, access: AccessSpec) {
  return { object: formatObjectKey(run.key), permissions: permissionsHash(run.provider.name, access) };
}

async function decide(
  run: Run,
  access: AccessSpec,
): Promise<{ decision: WorkspaceAccessDecision; secret: Secret | undefined }> {
  const { name, namespace } = workspaceSecret(run);
  const secret = await run.platform.get<Secret>(SECRETS, name, namespace);
  return { secret, decision: decideWorkspaceAccess(secret, wantedOf(run, access), run.now()) };
}

/** What is there, without changing anything. A token that is due for renewal still counts as granted. */
export async function judgeWorkspaceAccess(run: Run, access: AccessSpec): Promise<Verdict> {
  const { decision } = await decide(run, access);
  if (decision.do === 'use') return { state: 'granted', secret: workspaceSecret(run), renewAt: decision.renewAt };
  if (decision.do === 'renew') return { state: 'granted', secret: workspaceSecret(run), renewAt: run.now() };
  return {
    state: 'waiting',
    reason: REASON.waitingForWorkspaceAccess,
    message: 'the workspace access is not there yet',
  };
}

/**
 * Sees to it that the platform cluster holds a kubeconfig of the tenant's workspace with exactly the declared
 * permissions, good for a while.
 */
export async function ensureWorkspaceAccess(run: Run, workspace: WorkspacePort, access: AccessSpec): Promise<Verdict> {
  const { decision, secret } = await decide(run, access);
  switch (decision.do) {
    case 'use':
      return { state: 'granted', secret: workspaceSecret(run), renewAt: decision.renewAt };
    case 'wait':
      return {
        state: 'waiting',
        reason: REASON.waitingForWorkspaceAccess,
        message: decision.message,
        retryAfterMs: 1_000,
      };
    case 'renew':
      try {
        return await store(run, workspace, access, await renew(run, workspace, secret as Secret));
      } catch (error) {
        if (!isDenied(error)) throw error;
        run.log.info('the token was rejected; starting over');
      }
      break;
    case 'bootstrap':
      run.log.debug({ why: decision.why }, 'bootstrapping the workspace access');
  }
  try {
    return await store(run, workspace, access, await bootstrap(run, workspace, access));
  } catch (error) {
    return explainRefusal(error);
  }
}

/** Claims that nobody accepted answer 403, or a plain 404: the tenant is told which one it is about. */
function explainRefusal(error: unknown): Verdict {
  if (!(error instanceof ApiError) || (error.status !== 403 && error.status !== 404)) throw error;
  const terminating = /being terminated/.test(error.message);
  return {
    state: 'waiting',
    reason: terminating ? REASON.waitingForWorkspaceAccess : REASON.claimNotAccepted,
    message: terminating
      ? 'The namespace of an earlier access is still being removed from the workspace'
      : `A permission claim of the APIExport is not accepted by the workspace's APIBinding: ${error.message}`,
    retryAfterMs: terminating ? 1_000 : 5_000,
  };
}

async function renew(run: Run, workspace: WorkspacePort, secret: Secret): Promise<Token> {
  const where = `${secret.metadata.namespace}/${secret.metadata.name}`;
  const { token } = parseKubeconfig(kubeconfigFromSecret(secret, where), where);
  return requestToken(run, workspace, token ?? '');
}

async function bootstrap(run: Run, workspace: WorkspacePort, access: AccessSpec): Promise<Token> {
  const { virtual } = workspace;
  const objects = workspaceObjects(run.provider.name, access);
  for (const { type, object } of objects) await virtual.apply(type, object);
  await pruneRoles(virtual, run.provider.name, objects);
  const { type, object } = bootstrapSecret(run.provider.name);
  await virtual.apply(type, object);
  const { name, namespace } = object.metadata;
  const first = await patiently(async () => {
    const filled = await virtual.get<Secret>(type, name, namespace);
    const encoded = filled?.data?.['token'];
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
  if (!token) throw new RuntimeError('NOT_READY', 'the workspace does not let our ServiceAccount ask for a token');
  await virtual.delete(type, name, { namespace });
  return token;
}

async function requestToken(run: Run, workspace: WorkspacePort, bearer: string): Promise<Token> {
  const { namespace, serviceAccount } = workspaceNames(run.provider.name);
  const client = run.clients.clientFor(workspace.credentials(bearer)).fenced(run.guard);
  const issuedAt = run.now();
  const answer = await client.post<{ status: { token: string; expirationTimestamp: string } }>(
    `/api/v1/namespaces/${namespace}/serviceaccounts/${serviceAccount}/token`,
    {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenRequest',
      spec: { expirationSeconds: TOKEN_LIFE_SECONDS },
    },
  );
  run.secrets.add(answer.status.token);
  return { token: answer.status.token, issuedAt, expiresAt: new Date(answer.status.expirationTimestamp) };
}

async function store(run: Run, workspace: WorkspacePort, access: AccessSpec, token: Token): Promise<Verdict> {
  const reference = workspaceSecret(run);
  const wanted = wantedOf(run, access);
  const renewAt = renewalTime(token.issuedAt, token.expiresAt);
  const labels = {
    [RUNTIME_LABEL]: run.provider.name,
    [MANAGED_BY_LABEL]: shortenName(run.provider.controllerName),
  };
  await run.platform.apply<Secret>(SECRETS, {
    metadata: {
      name: reference.name,
      namespace: reference.namespace,
      labels,
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
  return { state: 'granted', secret: reference, renewAt };
}

/** The tenant namespace of a workspace; that of a ControlPlane is the platform's to make. */
export async function ensureTenantNamespace(run: Run): Promise<void> {
  if (await run.platform.get(NAMESPACES, run.tenantNamespace)) return;
  await run.platform.apply(NAMESPACES, {
    metadata: {
      name: run.tenantNamespace,
      labels: { [RUNTIME_LABEL]: run.provider.name },
      annotations: { [OBJECT_ANNOTATION]: formatObjectKey(run.key) },
    },
  });
}

async function patiently<T>(attempt: () => Promise<T | undefined>): Promise<T | undefined> {
  const end = Date.now() + PATIENCE_MS;
  for (;;) {
    const result = await attempt();
    if (result !== undefined || Date.now() >= end) return result;
    await sleep(POLL_MS);
  }
}
