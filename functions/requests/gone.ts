import type { KubeClient } from '../../shared/kube/ports.ts';
import { CLUSTER_REQUESTS, NAMESPACES } from '../../shared/kube/resources.ts';
import { isDeleting } from '../../shared/status.ts';
import type { Verdict } from '../step/verdict.ts';
import type { ObservedRequest } from './decide-request.ts';
import type { DesiredRequest } from './desired.ts';
import { endsWithUs, neverOurs } from './ownership.ts';

/**
 * Whether the cluster of an object that is being deleted went before it, so that access can't be had any more. Known by
 * what the platform cluster says of the ClusterRequest, never by a cluster that does not answer.
 * @returns undefined where access is there, or can be ordered
 * @throws ApiError where the platform cluster does not tell
 */
export async function withoutCluster(
  platform: KubeClient,
  desired: DesiredRequest,
  { accessRequest, clusterRequest }: ObservedRequest,
): Promise<Verdict | undefined> {
  const { cluster, namespace, access } = desired;
  // What was granted stays usable as long as it is there, and what another runtime removes is its own affair.
  if (!access || (accessRequest && (!endsWithUs(desired, accessRequest) || neverOurs(accessRequest)))) return undefined;
  if (desired.id === 'mcp' && cluster.kind === 'request') {
    const { reference } = cluster;
    const found = await platform.get(CLUSTER_REQUESTS, reference.name, reference.namespace);
    return found ? undefined : gone(`ClusterRequest ${reference.namespace}/${reference.name}`);
  }
  if (clusterRequest && !endsWithUs(desired, clusterRequest)) return undefined;
  // The platform removes the namespace of a control plane with it: a namespace that goes takes no new request.
  const found = await platform.get(NAMESPACES, namespace);
  return found && !isDeleting(found) ? undefined : gone(`Namespace ${namespace}`);
}

function gone(what: string): Verdict {
  return { state: 'gone', message: `${what} is gone, and so is the access` };
}
