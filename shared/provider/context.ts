import type { Logger } from 'pino';
import type { KubeClient } from '../kube/ports.ts';
import type { Duration } from '../model/duration.ts';
import type { Condition, ObjectMeta } from '../model/kubernetes.ts';
import type { Mode } from '../model/object-key.ts';
import type { ResourcePhase } from './schema/fixed-schemas.ts';

/** A tenant's order, as the provider sees it. */
export interface ServiceObjectOf<Spec> {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: Readonly<ObjectMeta>;
  readonly spec: Spec;
  readonly status: Readonly<Record<string, unknown>>;
}

/** One of the clusters that an object has access to, ready to use. */
export interface Cluster {
  /**
   * Refuses requests once the invocation has ended or `ctx.signal` has fired. For a cluster that went before the object
   * that is being deleted it says of everything that it is not there, and refuses to make anything.
   */
  readonly client: KubeClient;
  /** Kubeconfig (YAML), to embed in what the provider installs. It is a credential: never log it. */
  readonly kubeconfig: string;
  /** The Secret on the platform cluster that holds it, e.g. for a HelmRelease's `kubeConfig.secretRef`. */
  readonly secretRef: { readonly name: string; readonly namespace: string; readonly key: string };
}

/** An object that the provider installed, as tenants see it in `status.resources`. */
export interface ManagedResource {
  apiGroup?: string;
  kind: string;
  name: string;
  namespace?: string;
  phase: ResourcePhase;
  message?: string;
}

/**
 * What the provider reports about the object. The runtime writes it when the call returns, and only where it differs.
 * Without a report, a call that returns means Ready and one that throws means ReconcileError.
 */
export interface StatusReporter {
  /** Not ready yet. `reason` is a CamelCase word. */
  progressing(reason: string, message: string): void;
  ready(message?: string): void;
  /** A condition of the provider's own; the type `Ready` and those of the runtime are refused. */
  condition(condition: Pick<Condition, 'type' | 'status' | 'reason' | 'message'>): void;
  /** The objects that were installed, as `status.resources`; replaces the list of before. */
  resources(resources: readonly ManagedResource[]): void;
  /** Fields of the provider's own status; `undefined` removes one. */
  set(fields: Record<string, unknown>): void;
}

/** What every call gets; the same fields in both modes. */
export interface CommonContext<Config> {
  /** The end user cluster: the control plane, or the tenant's kcp workspace. */
  readonly mcp: Cluster;
  /** Null when the provider orders none. */
  readonly workload: Cluster | null;
  /** The clusters of `access.clusters`, by their ids; without those to which no access was asked. */
  readonly clusters: Readonly<Record<string, Cluster>>;
  /** Where the object lives: the onboarding cluster, or the workspace as far as the APIExport reaches. */
  readonly home: KubeClient;
  readonly platform: KubeClient;
  /** The tenant's namespace on the platform cluster. Names in it are shared with other providers: prefix yours. */
  readonly tenantNamespace: string;
  /** The provider's own namespace on the platform cluster. */
  readonly providerNamespace: string;
  /** Stable for a tenant: `<namespace>/<name>` of the control plane, or the logical cluster's name. */
  readonly identity: string;
  /** The object's full key with its uid, for `applyOwned`: the same name in two places is two owners. */
  readonly owner: string;
  readonly mode: Mode;
  readonly config: Config;
  /** Fires when the call should end: lease lost, run limit, or the object is being deleted during an install. */
  readonly signal: AbortSignal;
  readonly log: Logger;
  readonly status: StatusReporter;
}

/** What `createOrUpdate` gets. */
export interface ProviderContext<Config> extends CommonContext<Config> {
  readonly mcpGone: false;
}

/**
 * What `delete` gets. A control plane or kcp workspace may be deleted before, or together with, what was ordered for it:
 * then its content is gone, which is what `ctx.mcp.client` answers, and what remains to be removed is on the platform and
 * the workload cluster. A `delete` that reads, lists and deletes needs no branch for that.
 */
export interface DeleteContext<Config> extends CommonContext<Config> {
  readonly mcpGone: boolean;
}

/**
 * Nothing: done, for which a `requeueAfter` of nought stands as well, as in Go. `requeueAfter`: not yet, look again after
 * that time; less than a second counts as one.
 */
export type CallResult = void | { requeueAfter: Duration };

/** What a provider's own initialisation gets. */
export interface InitContext {
  readonly platform: KubeClient;
  readonly onboarding: KubeClient;
  /** The provider's own namespace on the platform cluster. */
  readonly providerNamespace: string;
  readonly environment: string | undefined;
  /** Installs CRDs onto the cluster that their label `openmcp.cloud/cluster` names, and waits until they are served. */
  installCrds(crds: readonly object[]): Promise<void>;
  readonly signal: AbortSignal;
  readonly log: Logger;
}
