import { isAlreadyExists } from '../../shared/kube/api-error.ts';
import type { HttpKubeClient } from '../../shared/kube/client.ts';
import type { KubeClient } from '../../shared/kube/ports.ts';
import { CLUSTER_REQUESTS } from '../../shared/kube/resources.ts';
import type { ClusterRequest, ObjectReference } from '../../shared/model/access.ts';
import type { KubeObject, ResourceType } from '../../shared/model/kubernetes.ts';
import { mcpNamespace } from '../../shared/names.ts';
import { ensureNamespace } from './cluster-provider/access.ts';
import { GRANTED } from './openmcp.ts';
import { eventually } from './wait.ts';

const TIMEOUT_MS = 60_000;
const NAME_LABEL = 'core.openmcp.cloud/mcp-name';
const NAMESPACE_LABEL = 'core.openmcp.cloud/mcp-namespace';

export const CONTROL_PLANES: ResourceType = {
  group: 'core.open-control-plane.io',
  version: 'v2alpha1',
  kind: 'ControlPlane',
  plural: 'controlplanes',
  namespaced: true,
};

/** A tenant's control plane, ready for use. */
export interface ControlPlane {
  /** As the tenant knows it on the onboarding cluster. */
  readonly namespace: string;
  readonly name: string;
  /** Its namespace on the platform, which also holds the ClusterRequest of its name. */
  readonly platformNamespace: string;
  readonly cluster: ObjectReference;
  /** Administrator there. */
  readonly client: HttpKubeClient;
}

export interface ControlPlaneClusters {
  readonly onboarding: KubeClient;
  readonly platform: KubeClient;
  readonly clusterClient: (namespace: string, name: string) => Promise<HttpKubeClient>;
}

/**
 * Orders a control plane with the objects that the ControlPlane controller of openmcp-operator makes for it, and waits
 * until its cluster is ready.
 */
export async function createControlPlane(
  { onboarding, platform, clusterClient }: ControlPlaneClusters,
  namespace: string,
  name: string,
): Promise<ControlPlane> {
  const platformNamespace = mcpNamespace(name, namespace);
  await Promise.all([ensureNamespace(onboarding, namespace), ensureNamespace(platform, platformNamespace)]);
  await onboarding.apply(CONTROL_PLANES, { metadata: { namespace, name }, spec: { iam: {} } } as KubeObject);
  const labels = { [NAME_LABEL]: name, [NAMESPACE_LABEL]: namespace };
  const cluster = await requestCluster(platform, platformNamespace, name, 'mcp', labels);
  const client = await clusterClient(cluster.namespace, cluster.name);
  return { namespace, name, platformNamespace, cluster, client };
}

/** Orders a cluster and waits until openmcp-operator says which one it is; that one may not be ready yet. */
export async function requestCluster(
  platform: KubeClient,
  namespace: string,
  name: string,
  purpose: string,
  labels: Record<string, string> = {},
): Promise<ObjectReference> {
  await platform
    .create<ClusterRequest>(CLUSTER_REQUESTS, { metadata: { namespace, name, labels }, spec: { purpose } })
    .catch((error: unknown) => {
      if (!isAlreadyExists(error)) throw error;
    });
  return eventually(
    `ClusterRequest ${namespace}/${name} is granted`,
    async (seen) => {
      const request = await platform.get<ClusterRequest>(CLUSTER_REQUESTS, name, namespace);
      seen(request?.status);
      return request?.status?.phase === GRANTED && request.status.cluster;
    },
    { timeout: TIMEOUT_MS },
  );
}
