import type { KubeClient } from '../../shared/kube/ports.ts';
import { ACCESS_REQUESTS, CLUSTER_REQUESTS, SECRETS } from '../../shared/kube/resources.ts';
import type { AccessMethod, AccessRequest, AccessSpec, ClusterRequest, Secret } from '../../shared/model/access.ts';
import { formatObjectKey } from '../../shared/model/object-key.ts';
import { ACCESS_ANNOTATION, OBJECT_ANNOTATION } from '../../shared/names.ts';
import type { Run } from '../step/run.ts';
import type { Declared } from './declared.ts';
import { type DesiredRequest, type RequestIdentity, requestIdentities, workspaceSecret } from './desired.ts';
import { isOurs } from './ownership.ts';

/**
 * The access that was ordered for an object last, as it is on the platform cluster: what a deletion goes on with where it
 * can't be computed any more, since something that it was computed from is gone.
 * @returns undefined where it is not all there: then nothing can be said of the rest
 */
export async function orderedLast(run: Run): Promise<Declared | undefined> {
  const { clusters } = run.provider.access;
  const requests: DesiredRequest[] = [];
  for (const identity of requestIdentities(run.key, run.provider)) {
    const found = await requestOf(run.platform, identity);
    // To some no access was asked: of a cluster of others nothing is left then that could be found.
    const isBare = identity.id in clusters && clusters[identity.id]?.access === undefined;
    if (!isBare && !found?.access) return undefined;
    if (found) requests.push(found);
  }
  const mcp = run.workspace ? await workspaceAccess(run) : requests.find(({ id }) => id === 'mcp')?.access;
  return mcp && { mcp, requests };
}

async function requestOf(platform: KubeClient, identity: RequestIdentity): Promise<DesiredRequest | undefined> {
  const { name, namespace, ordersCluster } = identity;
  const [order, request] = await Promise.all([
    ordersCluster ? platform.get<ClusterRequest>(CLUSTER_REQUESTS, name, namespace) : undefined,
    platform.get<AccessRequest>(ACCESS_REQUESTS, name, namespace),
  ]);
  const ours = request && isOurs(identity, request) ? request.spec : undefined;
  const access = ours && methodIn(ours);
  if (ordersCluster)
    return order && isOurs(identity, order)
      ? { ...identity, access, cluster: { kind: 'order', spec: order.spec } }
      : undefined;
  const { requestRef, clusterRef } = ours ?? {};
  if (requestRef) return { ...identity, access, cluster: { kind: 'request', reference: requestRef } };
  return clusterRef && { ...identity, access, cluster: { kind: 'cluster', reference: clusterRef } };
}

function methodIn({ token, oidc }: AccessRequest['spec']): AccessMethod | undefined {
  if (token) return { token };
  return oidc && { oidc };
}

/** It lies beside the kubeconfig that was made for it. */
async function workspaceAccess(run: Run): Promise<AccessMethod | undefined> {
  const { name, namespace } = workspaceSecret(run);
  const annotations = (await run.platform.get<Secret>(SECRETS, name, namespace))?.metadata.annotations;
  const written = annotations?.[ACCESS_ANNOTATION];
  if (written === undefined || annotations?.[OBJECT_ANNOTATION] !== formatObjectKey(run.key)) return undefined;
  try {
    return { token: JSON.parse(written) as AccessSpec };
  } catch {
    return undefined;
  }
}
