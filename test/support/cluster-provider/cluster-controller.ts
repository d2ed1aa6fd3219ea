import { isConflict } from '../../../shared/kube/api-error.ts';
import { CLUSTERS } from '../../../shared/kube/resources.ts';
import { workspaceUrl } from '../../../shared/kube/workspace-url.ts';
import { PROVIDER_LABEL, type Cluster } from '../openmcp.ts';
import { type ClusterProviderOptions, externalOf } from './options.ts';
import { ensureWorkspace, isMapped, prepareWorkspace, removeWorkspace, workspacePath } from './clusters.ts';
import { condition } from './conditions.ts';
import { addFinalizer, removeFinalizer } from './finalizers.ts';
import type { Store } from './store.ts';
import type { Requeue } from './work-queue.ts';

const REMOVAL_POLL_MS = 250;

/** Answers the Clusters of our profiles with workspaces. */
export class ClusterController {
  readonly #options: ClusterProviderOptions;
  readonly #store: Store<Cluster>;
  readonly #finalizer: string;

  constructor(options: ClusterProviderOptions, store: Store<Cluster>) {
    this.#options = options;
    this.#store = store;
    this.#finalizer = `${options.name}.clusters.openmcp.cloud/cluster`;
  }

  async reconcile(key: string): Promise<Requeue | void> {
    const cluster = this.#store.get(key);
    if (!cluster || !this.#options.profiles.includes(cluster.spec.profile)) return;
    try {
      if (cluster.metadata.deletionTimestamp) return await this.#remove(cluster);
      await this.#provide(cluster);
    } catch (error) {
      if (!isConflict(error)) throw error;
      await this.#store.refresh(key);
      return { afterMs: 0 };
    }
  }

  async #provide(cluster: Cluster): Promise<void> {
    if (cluster.status?.phase === 'Ready' && cluster.status.observedGeneration === cluster.metadata.generation) return;
    const { platform, kcpAdmin, name, parent } = this.#options;
    if (!cluster.metadata.finalizers?.includes(this.#finalizer)) {
      const labels = { ...cluster.metadata.labels, [PROVIDER_LABEL]: name };
      await addFinalizer(platform, CLUSTERS, cluster, this.#finalizer, { labels });
    }
    const server = kcpAdmin.server;
    const external = externalOf(this.#options, cluster);
    if (!external && !isMapped(cluster) && !(await ensureWorkspace(kcpAdmin.at(workspaceUrl(server, parent)), cluster)))
      return;
    const workspace = workspacePath(parent, cluster);
    const url = external?.client.server ?? workspaceUrl(server, workspace);
    await prepareWorkspace(external?.client ?? kcpAdmin.at(url));
    const status: Cluster['status'] = {
      phase: 'Ready',
      observedGeneration: cluster.metadata.generation ?? 0,
      apiServer: url,
      endpoints: [{ name: 'apiserver-external', url }],
      providerStatus: { workspace },
      conditions: [condition('Ready', 'True', 'WorkspaceReady', `workspace ${workspace} is ready`)],
    };
    const { name: clusterName, namespace } = cluster.metadata;
    await platform.mergePatch(CLUSTERS, clusterName, { status }, { namespace, subresource: 'status' });
  }

  /** Requests that still use the cluster keep it by finalizers of theirs; the workspace goes after the last of them. */
  async #remove(cluster: Cluster): Promise<Requeue | void> {
    const { finalizers = [] } = cluster.metadata;
    if (!finalizers.includes(this.#finalizer) || finalizers.length > 1) return;
    const { platform, kcpAdmin, parent } = this.#options;
    const parentClient = kcpAdmin.at(workspaceUrl(kcpAdmin.server, parent));
    const external = externalOf(this.#options, cluster);
    if (!external && !isMapped(cluster) && !(await removeWorkspace(kcpAdmin, parentClient, cluster)))
      return { afterMs: REMOVAL_POLL_MS };
    await removeFinalizer(platform, CLUSTERS, cluster, this.#finalizer);
  }
}
