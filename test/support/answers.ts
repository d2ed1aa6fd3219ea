import type { HttpKubeClient } from '../../shared/kube/client.ts';
import { formatKubeconfig, type ClusterCredentials } from '../../shared/kube/kubeconfig.ts';
import type { KubeClient } from '../../shared/kube/ports.ts';
import { CLUSTERS } from '../../shared/kube/resources.ts';
import { startOpenmcpOperator } from '../control-planes/openmcp-operator.ts';
import type { ManagedProcess } from '../control-planes/processes.ts';
import { InstantGrants } from './instant-grants.ts';
import { PROFILE, PURPOSE_MAPPINGS, SYSTEM_NAMESPACE } from './landscape-options.ts';
import type { Cluster } from './openmcp.ts';

/** Whatever answers the requests of a landscape. */
export interface Answers {
  readonly operator?: ManagedProcess;
  readonly instantGrants?: InstantGrants;
  stop(): Promise<void>;
}

/** openmcp-operator, as on a real platform. */
export async function answerByOperator(
  dir: string,
  kubeconfig: string,
  environment: string,
  deployments = false,
): Promise<Answers> {
  const system = { podNamespace: SYSTEM_NAMESPACE, purposeMappings: PURPOSE_MAPPINGS };
  const operator = await startOpenmcpOperator({ dir, kubeconfig, environment, deployments, ...system });
  return { operator, stop: () => operator.stop() };
}

/**
 * One workspace for all control planes and one for all workload, and administrator's access to whoever asks, so that a
 * measurement is about what asks and not about what answers.
 */
export async function answerInstantly(
  platform: KubeClient,
  credentials: ClusterCredentials,
  clusterClient: (namespace: string, name: string) => Promise<HttpKubeClient>,
): Promise<Answers> {
  const purposes = ['onboarding', 'workload', 'mcp'];
  const kubeconfigs = new Map<string, string>();
  await Promise.all(
    purposes.map(async (name) => {
      if (name !== 'onboarding') await createCluster(platform, name);
      const { server } = await clusterClient(SYSTEM_NAMESPACE, name);
      kubeconfigs.set(name, formatKubeconfig({ ...credentials, server }));
    }),
  );
  const instantGrants = new InstantGrants({
    platform,
    clusters: Object.fromEntries(purposes.map((name) => [name, { name, namespace: SYSTEM_NAMESPACE }])),
    kubeconfigOf: ({ name }) => kubeconfigs.get(name) ?? '',
  });
  await instantGrants.start();
  return { instantGrants, stop: () => instantGrants.stop() };
}

/** A shared Cluster of the purpose that its name says. */
export async function createCluster(
  platform: KubeClient,
  name: string,
  annotations: Record<string, string> = {},
): Promise<void> {
  await platform.create<Cluster>(CLUSTERS, {
    metadata: { name, namespace: SYSTEM_NAMESPACE, annotations },
    spec: { profile: PROFILE, purposes: [name], tenancy: 'Shared' },
  });
}
