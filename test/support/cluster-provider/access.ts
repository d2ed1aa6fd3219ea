import { isAlreadyExists, isDenied } from '../../../shared/kube/api-error.ts';
import { objectPath } from '../../../shared/kube/paths.ts';
import type { HttpKubeClient } from '../../../shared/kube/client.ts';
import type { KubeClient } from '../../../shared/kube/ports.ts';
import {
  CLUSTER_ROLE_BINDINGS,
  CLUSTER_ROLES,
  NAMESPACES,
  ROLE_BINDINGS,
  ROLES,
  SERVICE_ACCOUNTS,
} from '../../../shared/kube/resources.ts';
import type { AccessRequest } from '../../../shared/model/access.ts';
import type { KubeObject, ResourceType } from '../../../shared/model/kubernetes.ts';
import { ACCESS_NAMESPACE, REQUEST_UID_LABEL, rightsOf, serviceAccountName } from './rights.ts';

export interface Token {
  token: string;
  expires: Date;
}

/** Makes the ServiceAccount of a request, gives it the asked rights and issues a token for it. */
export async function grantRights(target: KubeClient, request: AccessRequest, lifeSeconds: number): Promise<Token> {
  const name = serviceAccountName(request);
  const uid = request.metadata.uid ?? '';
  const rights = rightsOf(request);
  const issue = async (): Promise<Token> => {
    await ensure(target, SERVICE_ACCOUNTS, uid, {
      metadata: { name, namespace: ACCESS_NAMESPACE, labels: { [REQUEST_UID_LABEL]: uid } },
    });
    return issueToken(target, ACCESS_NAMESPACE, name, lifeSeconds);
  };
  const give = async (): Promise<void> => {
    await Promise.all(rights.namespaces.map((namespace) => ensureNamespace(target, namespace)));
    await Promise.all(rights.objects.map(({ type, object }) => ensure(target, type, uid, object)));
  };
  const [token] = await Promise.all([issue(), give()]);
  return token;
}

/** Takes away what an earlier version of a request's spec got and the present one does not ask for. */
export async function removeOutdatedRights(target: HttpKubeClient, request: AccessRequest): Promise<void> {
  const kept = new Set(rightsOf(request).objects.map(({ type, object }) => identity(type, object)));
  await removeObjects(target, request, (type, object) => !kept.has(identity(type, object)));
}

/** Takes away all that a request got. A cluster that is gone or going has taken it along already. */
export async function removeRights(target: HttpKubeClient, request: AccessRequest): Promise<void> {
  try {
    await removeObjects(target, request, () => true);
    await target.delete(SERVICE_ACCOUNTS, serviceAccountName(request), { namespace: ACCESS_NAMESPACE });
  } catch (error) {
    // We are administrators: kcp forbids us only workspaces that do not exist any more.
    if (!isDenied(error)) throw error;
  }
}

export async function ensureNamespace(target: KubeClient, name: string): Promise<void> {
  await target.create(NAMESPACES, { metadata: { name } }).catch((error: unknown) => {
    if (!isAlreadyExists(error)) throw error;
  });
}

/** A token of a ServiceAccount, bound to it: it ends with it. */
export async function issueToken(target: KubeClient, namespace: string, name: string, seconds: number): Promise<Token> {
  const path = `${objectPath(SERVICE_ACCOUNTS, name, namespace)}/token`;
  const { status } = await target.post<{ status: { token: string; expirationTimestamp: string } }>(path, {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'TokenRequest',
    spec: { expirationSeconds: seconds },
  });
  return { token: status.token, expires: new Date(status.expirationTimestamp) };
}

/** Creates it, or brings one that we made earlier up to date. One of that name which is not this request's is left. */
async function ensure(target: KubeClient, type: ResourceType, uid: string, object: KubeObject): Promise<void> {
  try {
    await target.create(type, object);
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
    const { name, namespace } = object.metadata;
    const present = await target.get(type, name, namespace);
    if (present && present.metadata.labels?.[REQUEST_UID_LABEL] !== uid)
      throw new Error(`${type.kind} ${name} exists already and is not managed by this AccessRequest`, { cause: error });
    await target.mergePatch(type, name, object, { namespace });
  }
}

async function removeObjects(
  target: KubeClient,
  request: AccessRequest,
  outdated: (type: ResourceType, object: KubeObject) => boolean,
): Promise<void> {
  const labelSelector = `${REQUEST_UID_LABEL}=${request.metadata.uid}`;
  // Bindings first: a right ends with its binding.
  for (const types of [
    [CLUSTER_ROLE_BINDINGS, ROLE_BINDINGS],
    [CLUSTER_ROLES, ROLES],
  ])
    await Promise.all(
      types.map(async (type) => {
        const { items } = await target.list(type, { labelSelector });
        const removed = items.filter((object) => outdated(type, object));
        await Promise.all(removed.map(({ metadata: { name, namespace } }) => target.delete(type, name, { namespace })));
      }),
    );
}

function identity(type: ResourceType, { metadata: { namespace = '', name } }: KubeObject): string {
  return `${type.kind}/${namespace}/${name}`;
}
