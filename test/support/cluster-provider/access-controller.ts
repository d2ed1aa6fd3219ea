import { isConflict } from '../../../shared/kube/api-error.ts';
import type { HttpKubeClient } from '../../../shared/kube/client.ts';
import { formatKubeconfig } from '../../../shared/kube/kubeconfig.ts';
import { ACCESS_REQUESTS, SECRETS } from '../../../shared/kube/resources.ts';
import type { AccessRequest, Secret } from '../../../shared/model/access.ts';
import { DENIED, GRANTED, PENDING, PROFILE_LABEL, PROVIDER_LABEL, type Cluster } from '../openmcp.ts';
import { type ClusterProviderOptions, type Denial, externalOf } from './options.ts';
import { grantRights, removeOutdatedRights, removeRights, type Token } from './access.ts';
import { condition } from './conditions.ts';
import { addFinalizer, removeFinalizer } from './finalizers.ts';
import { keyOf, type Store } from './store.ts';
import type { Requeue } from './work-queue.ts';

const DEFAULT_TOKEN_LIFE_S = 86_400;
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** Answers the AccessRequests for our Clusters with tokens. */
export class AccessController {
  denial: Denial | undefined;
  readonly #options: ClusterProviderOptions;
  readonly #requests: Store<AccessRequest>;
  readonly #clusters: Store<Cluster>;
  readonly #target: (cluster: Cluster) => HttpKubeClient;
  readonly #finalizer: string;
  /** When the token of a request (by uid) is due for renewal. */
  readonly #renewals = new Map<string, number>();

  constructor(
    options: ClusterProviderOptions,
    requests: Store<AccessRequest>,
    clusters: Store<Cluster>,
    target: (cluster: Cluster) => HttpKubeClient,
  ) {
    this.#options = options;
    this.#requests = requests;
    this.#clusters = clusters;
    this.#target = target;
    this.#finalizer = `${options.name}.clusters.openmcp.cloud/accessrequest`;
  }

  async reconcile(key: string, request: AccessRequest): Promise<Requeue | void> {
    if (!isResponsible(request, this.#options.name)) return;
    try {
      if (request.metadata.deletionTimestamp) return await this.#remove(request);
      return await this.#provide(request);
    } catch (error) {
      if (!isConflict(error)) throw error;
      await this.#requests.refresh(key);
      return { afterMs: 0 };
    }
  }

  async #provide(request: AccessRequest): Promise<Requeue | void> {
    if (request.status?.phase === GRANTED) {
      const left = (await this.#renewalTime(request)) - Date.now();
      if (left > 0) return { afterMs: Math.min(left, LONGEST_TIMER_MS) };
    }
    const cluster = this.#clusterOf(request);
    // Looked at again when the cluster changes.
    if (!cluster || cluster.status?.phase !== 'Ready' || cluster.metadata.deletionTimestamp) return;
    const target = this.#target(cluster);
    const denial = request.spec.oidc ? 'only token access is offered' : this.denial?.(request);
    const earlier = request.metadata.finalizers?.includes(this.#finalizer) ?? false;
    if (denial !== undefined) return this.#deny(target, request, earlier, denial);

    const current = earlier
      ? request
      : await addFinalizer(this.#options.platform, ACCESS_REQUESTS, request, this.#finalizer);
    const token = await grantRights(target, request, this.#options.tokenLifeSeconds ?? DEFAULT_TOKEN_LIFE_S);
    if (earlier) await removeOutdatedRights(target, request);
    const secret = await this.#writeSecret(cluster, request, token);
    await this.#writeStatus(current, GRANTED, 'True', 'Granted', `token until ${token.expires.toISOString()}`, secret);
    return { afterMs: Math.min(this.#rememberRenewal(request, token.expires) - Date.now(), LONGEST_TIMER_MS) };
  }

  async #deny(target: HttpKubeClient, request: AccessRequest, earlier: boolean, message: string): Promise<void> {
    if (earlier) await this.#takeBack(target, request);
    await this.#writeStatus(request, DENIED, 'False', 'Denied', message, null);
  }

  async #remove(request: AccessRequest): Promise<void> {
    if (!request.metadata.finalizers?.includes(this.#finalizer)) return;
    const cluster = this.#clusterOf(request);
    await this.#takeBack(cluster ? this.#target(cluster) : undefined, request);
    await removeFinalizer(this.#options.platform, ACCESS_REQUESTS, request, this.#finalizer);
    this.#renewals.delete(request.metadata.uid ?? '');
  }

  async #takeBack(target: HttpKubeClient | undefined, request: AccessRequest): Promise<void> {
    if (target) await removeRights(target, request);
    await this.#options.platform.delete(SECRETS, secretName(request), { namespace: request.metadata.namespace });
  }

  async #writeSecret(cluster: Cluster, request: AccessRequest, { token, expires }: Token): Promise<string> {
    const name = secretName(request);
    const { server } = this.#target(cluster);
    const { ca } = externalOf(this.#options, cluster)?.credentials ?? this.#options.kcpCredentials;
    const data = {
      kubeconfig: formatKubeconfig({ server, ca, token }),
      creationTimestamp: unixSeconds(new Date()),
      expirationTimestamp: unixSeconds(expires),
    };
    await this.#options.platform.apply<Secret>(SECRETS, {
      metadata: {
        name,
        namespace: request.metadata.namespace ?? '',
        labels: { 'openmcp.cloud/managed-by': this.#options.name },
      },
      type: 'Opaque',
      data: Object.fromEntries(
        Object.entries(data).map(([key, value]) => [key, Buffer.from(value).toString('base64')]),
      ),
    });
    return name;
  }

  async #writeStatus(
    { metadata: { name, namespace, resourceVersion, generation = 0 } }: AccessRequest,
    phase: string,
    ready: 'True' | 'False',
    reason: string,
    message: string,
    secret: string | null,
  ): Promise<void> {
    const status = {
      phase,
      observedGeneration: generation,
      secretRef: secret === null ? null : { name: secret },
      conditions: [{ ...condition('Ready', ready, reason, message), observedGeneration: generation }],
    };
    // With the version that was answered: a late answer to an earlier spec would hide that the present one is pending.
    const patch = { metadata: { resourceVersion }, status };
    await this.#options.platform.mergePatch(ACCESS_REQUESTS, name, patch, { namespace, subresource: 'status' });
  }

  /** From memory, or after a restart from the Secret; 0 where that is gone. */
  async #renewalTime(request: AccessRequest): Promise<number> {
    const known = this.#renewals.get(request.metadata.uid ?? '');
    if (known !== undefined) return known;
    const { namespace } = request.metadata;
    const secret = await this.#options.platform.get<Secret>(SECRETS, secretName(request), namespace);
    const expires = Buffer.from(secret?.data?.['expirationTimestamp'] ?? '', 'base64').toString();
    return expires ? this.#rememberRenewal(request, new Date(Number(expires) * 1000)) : 0;
  }

  #rememberRenewal(request: AccessRequest, expires: Date): number {
    const lifeMs = (this.#options.tokenLifeSeconds ?? DEFAULT_TOKEN_LIFE_S) * 1000;
    const at = expires.getTime() - lifeMs / 5;
    this.#renewals.set(request.metadata.uid ?? '', at);
    return at;
  }

  #clusterOf({ spec: { clusterRef } }: AccessRequest): Cluster | undefined {
    return clusterRef && this.#clusters.get(keyOf({ metadata: clusterRef }));
  }
}

/** As `IsClusterProviderResponsibleForAccessRequest` of openmcp-operator decides it. */
export function isResponsible({ metadata, status }: AccessRequest, provider: string): boolean {
  if (metadata.labels?.[PROVIDER_LABEL] !== provider || metadata.labels[PROFILE_LABEL] === undefined) return false;
  return status?.phase === PENDING || (status?.phase === GRANTED && status.observedGeneration === metadata.generation);
}

function secretName({ metadata: { name } }: AccessRequest): string {
  return `${name}.kubeconfig`;
}

function unixSeconds(time: Date): string {
  return String(Math.floor(time.getTime() / 1000));
}
