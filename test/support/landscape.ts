import { randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { HttpKubeClient } from '../../shared/kube/client.ts';
import { formatKubeconfig } from '../../shared/kube/kubeconfig.ts';
import type { KubeClient } from '../../shared/kube/ports.ts';
import { CLUSTER_PROFILES, CLUSTER_REQUESTS, CLUSTERS } from '../../shared/kube/resources.ts';
import { workspaceUrl } from '../../shared/kube/workspace-url.ts';
import type { ClusterRequest } from '../../shared/model/access.ts';
import type { KubeObject } from '../../shared/model/kubernetes.ts';
import type { Kcp } from '../control-planes/kcp.ts';
import type { KubeApiserver } from '../control-planes/kube-apiserver.ts';
import { answerByOperator, answerInstantly, createCluster, type Answers } from './answers.ts';
import { bindExport, type ApiBinding, type BindOptions } from './bindings.ts';
import { ensureNamespace } from './cluster-provider/access.ts';
import { WORKSPACE_ANNOTATION } from './cluster-provider/clusters.ts';
import { EXTERNAL_ANNOTATION } from './cluster-provider/options.ts';
import { createControlPlane, requestCluster, type ControlPlane } from './control-plane.ts';
import { installCrds, openmcpCrds, otherProviderCrds } from './crds.ts';
import { KcpClusterProvider, type ClusterProviderOptions } from './kcp-cluster-provider.ts';
import { createKcpIdentity } from './kcp-identity.ts';
import { CLUSTER_PROVIDER, PROFILE, SYSTEM_NAMESPACE } from './landscape-options.ts';
import type { Cluster } from './openmcp.ts';
import { eventually } from './wait.ts';
import { createWorkspace, deleteWorkspace, type TenantWorkspace } from './workspaces.ts';

/** One workspace of the landscape, seen by an administrator. */
export interface LandscapeCluster extends TenantWorkspace {
  readonly kubeconfig: string;
  readonly kubeconfigPath: string;
}

export interface Landscape {
  readonly name: string;
  /** Parent of all workspaces of this landscape. */
  readonly path: string;
  readonly dir: string;
  readonly kcp: Kcp;
  readonly platform: LandscapeCluster;
  readonly onboarding: LandscapeCluster;
  /** The provider's workspace, which holds APIExports. */
  readonly services: LandscapeCluster;
  readonly clusterProvider: KcpClusterProvider;
  readonly answers: Answers;
  createControlPlane(namespace: string, name: string): Promise<ControlPlane>;
  createTenantWorkspace(name: string): Promise<TenantWorkspace>;
  /** Binds an APIExport of the services workspace in a tenant's workspace. */
  bind(workspace: TenantWorkspace, exportName: string, options?: BindOptions): Promise<ApiBinding>;
  /** Kubeconfig of an identity that has in the services workspace what the runtime needs, and nothing elsewhere. */
  runtimeKcpIdentity(name?: string): Promise<string>;
  /** Administrator of the workspace behind a Cluster, once that is ready. */
  clusterClient(clusterNamespace: string, clusterName: string): Promise<HttpKubeClient>;
  /** Administrator of the cluster that a ClusterRequest was granted. */
  clusterOfRequest(namespace: string, name: string): Promise<HttpKubeClient>;
  /** Stops the operator and the cluster provider, and has kcp remove the workspaces. */
  stop(): Promise<void>;
}

export interface LandscapeOptions {
  kcp: Kcp;
  /** For kubeconfigs, configuration and logs. */
  dir: string;
  /** Workspace below `root`; default a random name. */
  name?: string;
  /**
   * Who answers requests: `operator` (the default) openmcp-operator and our cluster provider with exactly the rights
   * asked, `instant` {@link answerInstantly} for measurements.
   */
  answers?: 'operator' | 'instant';
  /** Kubernetes API servers that are the platform and the onboarding cluster, in place of workspaces. */
  apiservers?: { platform: KubeApiserver; onboarding: KubeApiserver };
  /** Let the operator deploy providers; only where Jobs and Deployments exist. */
  deployments?: boolean;
  clusterProvider?: Pick<ClusterProviderOptions, 'tokenLifeSeconds' | 'autoGrant' | 'concurrency'>;
}

/** Builds a whole openMCP landscape out of workspaces of a kcp that runs already. Many fit into one kcp. */
export async function createLandscape(options: LandscapeOptions): Promise<Landscape> {
  const { kcp, name = `landscape-${randomBytes(4).toString('hex')}` } = options;
  const dir = join(options.dir, name);
  mkdirSync(dir, { recursive: true });
  const root = await createWorkspace(kcp.admin, 'root', name);
  const { path } = root;
  await using started = new AsyncDisposableStack();
  started.defer(() => deleteWorkspace(root));
  const create = async (child: string): Promise<LandscapeCluster> =>
    withKubeconfig(kcp, dir, child, await createWorkspace(kcp.admin, path, child));
  const { apiservers } = options;
  const [platform, onboarding, services, tenants, clusters] = await Promise.all([
    apiservers ? apiserverCluster(apiservers.platform) : create('platform'),
    apiservers ? apiserverCluster(apiservers.onboarding) : create('onboarding'),
    create('services'),
    create('tenants'),
    create('clusters'),
  ]);

  const platformCrds = [
    ...openmcpCrds('clusters.'),
    ...openmcpCrds('openmcp.'),
    ...(options.deployments ? otherProviderCrds() : []),
  ];
  await Promise.all([
    installCrds(platform.client, platformCrds),
    installCrds(onboarding.client, openmcpCrds('core.')),
    ensureNamespace(platform.client, SYSTEM_NAMESPACE),
  ]);
  const clusterProvider = new KcpClusterProvider({
    ...options.clusterProvider,
    name: CLUSTER_PROVIDER,
    profiles: [PROFILE],
    platform: platform.client,
    kcpAdmin: kcp.admin,
    kcpCredentials: kcp.adminCredentials,
    external: new Map(
      apiservers
        ? [['onboarding', { client: onboarding.client, credentials: apiservers.onboarding.adminCredentials }]]
        : [],
    ),
    parent: clusters.path,
  });
  started.defer(() => clusterProvider.stop());
  const clusterClient = (namespace: string, clusterName: string): Promise<HttpKubeClient> =>
    clientOfCluster(kcp, platform.client, namespace, clusterName);
  const instant = options.answers === 'instant';
  await Promise.all([
    // Go clients find types by discovery; measurements want types that have settled.
    installCrds(platform.client, platformCrds, instant ? 'settled' : 'discovered'),
    clusterProvider.start(),
    createProfile(platform.client),
    // It is there before openMCP is; requests for it find a Cluster that stands for it.
    createCluster(
      platform.client,
      'onboarding',
      apiservers ? { [EXTERNAL_ANNOTATION]: 'onboarding' } : { [WORKSPACE_ANNOTATION]: onboarding.path },
    ),
  ]);
  const answers = await (instant
    ? answerInstantly(platform.client, kcp.adminCredentials, clusterClient)
    : answerByOperator(dir, platform.kubeconfigPath, name, options.deployments));
  started.defer(() => answers.stop());
  await requestCluster(platform.client, SYSTEM_NAMESPACE, 'onboarding', 'onboarding');
  const running = started.move();
  return {
    name,
    path,
    dir,
    kcp,
    platform,
    onboarding,
    services,
    clusterProvider,
    answers,
    clusterClient,
    async clusterOfRequest(namespace, request) {
      const found = await platform.client.get<ClusterRequest>(CLUSTER_REQUESTS, request, namespace);
      const { cluster } = found?.status ?? {};
      if (!cluster) throw new Error(`ClusterRequest ${namespace}/${request} has no cluster`);
      return clusterClient(cluster.namespace, cluster.name);
    },
    stop: () => running.disposeAsync(),
    createControlPlane: (namespace, controlPlane) =>
      createControlPlane(
        { onboarding: onboarding.client, platform: platform.client, clusterClient },
        namespace,
        controlPlane,
      ),
    createTenantWorkspace: (tenant) => createWorkspace(kcp.admin, tenants.path, tenant),
    bind: (workspace, exportName, bindOptions) => bindExport(workspace.client, services, exportName, bindOptions),
    runtimeKcpIdentity: (identity = 'service-provider') => createKcpIdentity(services.client, kcp, identity),
  };
}

function apiserverCluster({ server, admin, kubeconfigPath }: KubeApiserver): LandscapeCluster {
  const kubeconfig = readFileSync(kubeconfigPath, 'utf8');
  return { path: server, logicalCluster: '', client: admin, kubeconfig, kubeconfigPath };
}

function withKubeconfig(kcp: Kcp, dir: string, name: string, workspace: TenantWorkspace): LandscapeCluster {
  const server = workspaceUrl(kcp.server, workspace.path);
  const kubeconfig = formatKubeconfig({ ...kcp.adminCredentials, server });
  const kubeconfigPath = join(dir, `${name}.kubeconfig`);
  writeFileSync(kubeconfigPath, kubeconfig, { mode: 0o600 });
  return { ...workspace, kubeconfig, kubeconfigPath };
}

async function createProfile(platform: KubeClient): Promise<void> {
  await platform.apply(CLUSTER_PROFILES, {
    metadata: { name: PROFILE },
    spec: {
      providerRef: { name: CLUSTER_PROVIDER },
      providerConfigRef: { name: CLUSTER_PROVIDER },
      supportedVersions: [{ version: '1.34.0' }],
    },
  } as KubeObject);
}

async function clientOfCluster(
  kcp: Kcp,
  platform: KubeClient,
  namespace: string,
  name: string,
): Promise<HttpKubeClient> {
  const url = await eventually(`Cluster ${namespace}/${name} is ready`, async (seen) => {
    const cluster = await platform.get<Cluster>(CLUSTERS, name, namespace);
    seen(cluster);
    return cluster?.status?.phase === 'Ready' && cluster.status.apiServer;
  });
  return kcp.admin.at(url || '');
}
