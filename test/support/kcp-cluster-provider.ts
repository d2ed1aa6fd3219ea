import type { HttpKubeClient } from '../../shared/kube/client.ts';
import { ACCESS_REQUESTS, CLUSTERS, WORKSPACES } from '../../shared/kube/resources.ts';
import { workspaceUrl } from '../../shared/kube/workspace-url.ts';
import type { AccessRequest } from '../../shared/model/access.ts';
import { AccessController } from './cluster-provider/access-controller.ts';
import { ClusterController } from './cluster-provider/cluster-controller.ts';
import { CLUSTER_ANNOTATION, workspacePath } from './cluster-provider/clusters.ts';
import { type ClusterProviderOptions, type Denial, externalOf } from './cluster-provider/options.ts';
import { keyOf, Store } from './cluster-provider/store.ts';
import { WorkQueue, type Requeue } from './cluster-provider/work-queue.ts';
import { follow } from './follow.ts';
import type { Cluster, Workspace } from './openmcp.ts';

export type { ClusterProviderOptions, Denial };

/**
 * A cluster provider of openMCP whose clusters are kcp workspaces: it answers Clusters of its profiles with workspaces,
 * and AccessRequests for them with tokens of real ServiceAccounts that may do what was asked.
 */
export class KcpClusterProvider {
  /** What went wrong, newest last; each was or will be tried again. */
  readonly problems: string[] = [];
  readonly #options: ClusterProviderOptions;
  readonly #clusters: Store<Cluster>;
  readonly #requests: Store<AccessRequest>;
  readonly #clusterQueue: WorkQueue;
  readonly #requestQueue: WorkQueue;
  readonly #access: AccessController;
  readonly #stopping = new AbortController();
  #autoGrant: boolean;

  constructor(options: ClusterProviderOptions) {
    this.#options = options;
    this.#autoGrant = options.autoGrant ?? true;
    const { platform, concurrency = 16 } = options;
    this.#clusters = new Store<Cluster>(platform, CLUSTERS);
    this.#requests = new Store<AccessRequest>(platform, ACCESS_REQUESTS);
    const clusters = new ClusterController(options, this.#clusters);
    this.#access = new AccessController(options, this.#requests, this.#clusters, (cluster) => this.#target(cluster));
    const onError = (what: string) => (key: string, error: unknown) =>
      void this.problems.push(`${what} ${key}: ${error instanceof Error ? error.message : String(error)}`);
    this.#clusterQueue = new WorkQueue(concurrency, (key) => clusters.reconcile(key), onError('Cluster'));
    this.#requestQueue = new WorkQueue(concurrency, (key) => this.#reconcileRequest(key), onError('AccessRequest'));
  }

  /** Resolves when what exists is known. */
  async start(): Promise<void> {
    const { kcpAdmin, parent } = this.#options;
    const { signal } = this.#stopping;
    await this.#clusters.follow(signal, (key) => {
      this.#clusterQueue.add(key);
      // A request may have waited for just this cluster.
      for (const request of this.#requests.all())
        if (clusterKeyOf(request) === key) this.#requestQueue.add(keyOf(request));
    });
    await this.#requests.follow(signal, (key) => this.#requestQueue.add(key));
    await follow<Workspace>(kcpAdmin.at(workspaceUrl(kcpAdmin.server, parent)), WORKSPACES, {
      signal,
      onEvent: ({ object }) => {
        const key = object.metadata.annotations?.[CLUSTER_ANNOTATION];
        if (key) this.#clusterQueue.add(key);
      },
    });
  }

  /** Leaves everything as it is. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await Promise.all([this.#clusterQueue.stop(), this.#requestQueue.stop()]);
  }

  /** Holds AccessRequests back (deletions are still done), or lets go of all that were held. */
  setAutoGrant(autoGrant: boolean): void {
    this.#autoGrant = autoGrant;
    for (const request of this.#requests.all()) this.#requestQueue.add(keyOf(request));
  }

  /** From now on denies requests for which `denial` gives a reason; `undefined` ends that. */
  denyWhen(denial: Denial | undefined): void {
    this.#access.denial = denial;
  }

  /** An administrator's client for the workspace, or external cluster, behind a Cluster. */
  #target(cluster: Cluster): HttpKubeClient {
    const { kcpAdmin, parent } = this.#options;
    const external = externalOf(this.#options, cluster);
    if (external) return external.client;
    return kcpAdmin.at(workspaceUrl(kcpAdmin.server, workspacePath(parent, cluster)));
  }

  async #reconcileRequest(key: string): Promise<Requeue | void> {
    const request = this.#requests.get(key);
    if (!request || (!this.#autoGrant && !request.metadata.deletionTimestamp)) return;
    return this.#access.reconcile(key, request);
  }
}

function clusterKeyOf({ spec: { clusterRef } }: AccessRequest): string {
  return clusterRef ? `${clusterRef.namespace}/${clusterRef.name}` : '';
}
