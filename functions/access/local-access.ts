import { ACCESS_REQUESTS, CLUSTERS } from '../../shared/kube/resources.ts';
import type { AccessRequest } from '../../shared/model/access.ts';
import type { KubeObjectOf } from '../../shared/model/kubernetes.ts';
import type { Run } from '../step/run.ts';
import { type LocalAddresses, localAddresses } from './decide-local-access.ts';
import { requestIdentities } from '../requests/desired.ts';

type Cluster = KubeObjectOf<{ status?: { endpoints?: { name: string; url: string }[] } }>;

/** The addresses for debugging that the request of a registration names; always undefined outside of debugging. */
export async function findLocalAddresses(run: Run, id: string): Promise<LocalAddresses | undefined> {
  if (!run.localAccess) return undefined;
  const identity = requestIdentities(run.key, run.provider).find((each) => each.id === id);
  if (!identity) return undefined;
  const request = await run.platform.get<AccessRequest>(ACCESS_REQUESTS, identity.name, identity.namespace);
  const embedInternal = id === 'mcp' && run.provider.workloadCluster;
  const { clusterRef } = request?.spec ?? {};
  const cluster =
    embedInternal && clusterRef
      ? await run.platform.get<Cluster>(CLUSTERS, clusterRef.name, clusterRef.namespace)
      : undefined;
  return localAddresses(request?.metadata.annotations, cluster?.status?.endpoints ?? [], embedInternal);
}
