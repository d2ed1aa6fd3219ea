import { conflictWith, isAlreadyExists } from '../../shared/kube/api-error.ts';
import { formatKubeconfig } from '../../shared/kube/kubeconfig.ts';
import type { WorkspacePort } from '../../shared/kcp/workspace-port.ts';
import { SECRETS } from '../../shared/kube/resources.ts';
import type { AccessSpec, Secret } from '../../shared/model/access.ts';
import { formatObjectKey } from '../../shared/model/object-key.ts';
import {
  ACCESS_ANNOTATION,
  CONTENTS_ANNOTATION,
  MANAGED_BY_LABEL,
  OBJECT_ANNOTATION,
  RUNTIME_LABEL,
  shortenName,
} from '../../shared/names.ts';
import type { Run } from '../step/run.ts';
import type { Verdict } from '../step/verdict.ts';
import {
  EXPIRES_AT_ANNOTATION,
  fingerprint,
  PERMISSIONS_ANNOTATION,
  RENEW_AT_ANNOTATION,
  renewalTime,
  TOKENS_ANNOTATION,
} from './decide.ts';
import { formatTokenSecrets, parseTokenSecrets, type TokenSecret } from './decide-token-secrets.ts';
import { permissionsHash } from './objects.ts';
import { workspaceSecret } from '../requests/desired.ts';
import { requireClaim } from './tenant-namespace.ts';
import type { Token } from './token.ts';

/** What the kubeconfig Secret has to be for. */
export function wantedOf(run: Run, access: AccessSpec) {
  return { object: formatObjectKey(run.key), permissions: permissionsHash(run.provider.name, access) };
}

/**
 * Puts the token into the kubeconfig Secret on the platform cluster, while the object still has its claim and the Secret is
 * the one that was looked at. The token that was handed out before stays good until the next one.
 * @param found the Secret as it was read
 * @throws ApiError 409 `Conflict`
 */
export async function store(
  run: Run,
  workspace: WorkspacePort,
  access: AccessSpec,
  token: Token,
  found: Secret | undefined,
): Promise<Verdict> {
  const reference = workspaceSecret(run);
  const wanted = wantedOf(run, access);
  const renewAt = renewalTime(token.issuedAt, token.expiresAt, workspace.tuning.renewalThreshold);
  const [last] = tokenSecretsOf(found);
  const { uid, resourceVersion } = found?.metadata ?? {};
  const contents = Buffer.from(formatKubeconfig(workspace.credentials(token.token))).toString('base64');
  const secret: Secret = {
    metadata: {
      name: reference.name,
      namespace: reference.namespace,
      ...(uid && resourceVersion ? { uid, resourceVersion } : {}),
      labels: {
        [RUNTIME_LABEL]: run.provider.name,
        [MANAGED_BY_LABEL]: shortenName(run.provider.controllerName),
      },
      annotations: {
        [OBJECT_ANNOTATION]: wanted.object,
        [PERMISSIONS_ANNOTATION]: wanted.permissions,
        [ACCESS_ANNOTATION]: JSON.stringify(access),
        [CONTENTS_ANNOTATION]: fingerprint(contents),
        [EXPIRES_AT_ANNOTATION]: token.expiresAt.toISOString(),
        [RENEW_AT_ANNOTATION]: renewAt.toISOString(),
        [TOKENS_ANNOTATION]: formatTokenSecrets([token.boundTo, ...(last ? [last] : [])]),
      },
    },
    type: 'Opaque',
    data: { [reference.key]: contents },
  };
  await requireClaim(run);
  await (found ? run.platform.apply(SECRETS, secret) : createOnce(run, secret));
  run.log.info({ expiresAt: token.expiresAt }, 'workspace token made');
  return granted(run, renewAt);
}

async function createOnce({ platform }: Run, secret: Secret): Promise<void> {
  try {
    await platform.create(SECRETS, secret);
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
    throw conflictWith(`Secret ${secret.metadata.name}`, 'it was made by somebody else meanwhile');
  }
}

/** Secrets in the workspace of the tokens that are handed out, the newest first. */
export function tokenSecretsOf(secret: Secret | undefined): TokenSecret[] {
  return parseTokenSecrets(secret?.metadata.annotations?.[TOKENS_ANNOTATION]);
}

export function granted(run: Run, renewAt: Date): Verdict {
  return { state: 'granted', secret: workspaceSecret(run), renewAt };
}
