import type { KubeClient } from '../../shared/kube/ports.ts';
import { ACCESS_REQUESTS, CLUSTER_REQUESTS, SECRETS } from '../../shared/kube/resources.ts';
import type { AccessRequest, ClusterRequest, ObjectReference, Secret } from '../../shared/model/access.ts';
import { keyOf, Store } from './cluster-provider/store.ts';
import { WorkQueue } from './cluster-provider/work-queue.ts';
import { GRANTED } from './openmcp.ts';

export interface InstantGrantsOptions {
  platform: KubeClient;
  /** The Cluster that answers a request, by its purpose. */
  clusters: Record<string, ObjectReference>;
  /** What a granted request gets for a Cluster. */
  kubeconfigOf: (cluster: ObjectReference) => string;
}

/**
 * Grants every request at once and with as few writes as can be: one for a ClusterRequest, two for an AccessRequest.
 * For measurements, in place of openmcp-operator and the cluster provider, whose own pace would be what is measured:
 * the operator sends five API requests a second, which is 1.7 AccessRequests.
 */
export class InstantGrants {
  /** What went wrong, newest last; each was tried again. */
  readonly problems: string[] = [];
  readonly #options: InstantGrantsOptions;
  readonly #clusterRequests: Store<ClusterRequest>;
  readonly #accessRequests: Store<AccessRequest>;
  readonly #queue: WorkQueue;
  readonly #stopping = new AbortController();

  constructor(options: InstantGrantsOptions) {
    this.#options = options;
    this.#clusterRequests = new Store<ClusterRequest>(options.platform, CLUSTER_REQUESTS);
    this.#accessRequests = new Store<AccessRequest>(options.platform, ACCESS_REQUESTS);
    this.#queue = new WorkQueue(
      32,
      (key) => this.#answer(key),
      (key, error) => void this.problems.push(`${key}: ${error instanceof Error ? error.message : String(error)}`),
    );
  }

  /** Resolves when what exists is known. */
  async start(): Promise<void> {
    const { signal } = this.#stopping;
    await Promise.all([
      this.#clusterRequests.follow(signal, (key) => this.#queue.add(`${CLUSTER_REQUESTS.kind}:${key}`)),
      this.#accessRequests.follow(signal, (key) => this.#queue.add(`${ACCESS_REQUESTS.kind}:${key}`)),
    ]);
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#queue.stop();
  }

  async #answer(item: string): Promise<void> {
    const [kind, key = ''] = item.split(':');
    if (kind === CLUSTER_REQUESTS.kind) await this.#answerClusterRequest(this.#clusterRequests.get(key));
    else await this.#answerAccessRequest(this.#accessRequests.get(key));
  }

  async #answerClusterRequest(request: ClusterRequest | undefined): Promise<void> {
    if (!request || request.status?.phase === GRANTED) return;
    const cluster = this.#options.clusters[request.spec.purpose];
    if (!cluster) throw new Error(`no cluster for purpose ${request.spec.purpose}`);
    const { name, namespace, generation } = request.metadata;
    const status = { phase: GRANTED, observedGeneration: generation, cluster };
    await this.#options.platform.mergePatch(CLUSTER_REQUESTS, name, { status }, { namespace, subresource: 'status' });
  }

  async #answerAccessRequest(request: AccessRequest | undefined): Promise<void> {
    if (!request || request.metadata.deletionTimestamp) return;
    const { name, namespace = '', generation } = request.metadata;
    const { phase, observedGeneration } = request.status ?? {};
    if (phase === GRANTED && observedGeneration === generation) return;
    const { clusterRef, requestRef } = request.spec;
    const cluster =
      clusterRef ?? (requestRef && this.#clusterRequests.get(keyOf({ metadata: requestRef }))?.status?.cluster);
    // A failure is tried again soon; the answer to its ClusterRequest may just not have come back to us.
    if (!cluster) throw new Error('its ClusterRequest is not granted');
    const secret = `${name}.kubeconfig`;
    const kubeconfig = Buffer.from(this.#options.kubeconfigOf(cluster)).toString('base64');
    const { platform } = this.#options;
    await platform.apply<Secret>(SECRETS, {
      metadata: { name: secret, namespace },
      type: 'Opaque',
      data: { kubeconfig },
    });
    const status = { phase: GRANTED, observedGeneration: generation, secretRef: { name: secret } };
    await platform.mergePatch(ACCESS_REQUESTS, name, { status }, { namespace, subresource: 'status' });
  }
}
