import type { Logger } from 'pino';
import type { z } from 'zod';
import { RuntimeError } from '../errors.ts';
import type { KubeClient } from '../kube/ports.ts';
import type { PermissionClaim, PermissionsRequest } from '../model/access.ts';
import type { Duration } from '../model/duration.ts';
import type { Condition, ObjectMeta } from '../model/kubernetes.ts';
import type { Mode } from '../model/object-key.ts';
import type { Computed, DeclaredAccess, ManagedLabels, Registration } from './registration.ts';
import type { ResourcePhase } from './schema/fixed-schemas.ts';
import type { ProviderConfigApi, ServiceApi } from './types.ts';
import type { ReferencedSecret } from './references.ts';

/** A tenant's order, as the provider sees it. */
export interface ServiceObjectOf<Spec> {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: Readonly<ObjectMeta>;
  readonly spec: Spec;
  readonly status: Readonly<Record<string, unknown>>;
}

/** One of the tenant's clusters, ready to use. */
export interface Cluster {
  /** Refuses requests once the invocation has ended or `ctx.signal` has fired. */
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
  readonly mode: Mode;
  readonly config: Config;
  /** Fires when the call should end: lease lost, run limit, or the object is being deleted during an install. */
  readonly signal: AbortSignal;
  readonly log: Logger;
  readonly status: StatusReporter;
}

/** What `createOrUpdate` gets. */
export interface ProviderContext<Config> extends CommonContext<Config> {
  /** The end user cluster: the control plane, or the tenant's kcp workspace. */
  readonly mcp: Cluster;
  readonly mcpGone: false;
}

/**
 * What `delete` gets. A kcp workspace may be deleted before, or together with, what was ordered in it: then there is no
 * end user cluster any more, its content is gone, and what remains to be removed is on the platform and the workload
 * cluster.
 */
export type DeleteContext<Config> =
  ProviderContext<Config> | (CommonContext<Config> & { readonly mcp: null; readonly mcpGone: true });

/** Nothing: done. `requeueAfter`: not yet, look again after that time. */
export type CallResult = void | { requeueAfter: Duration };

/** `init` installs types and ends; `run` serves objects for years. So their rights are asked for apart. */
export interface OnboardingRights {
  init?: PermissionsRequest[];
  run?: PermissionsRequest[];
}

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

/** Which clusters a provider gets into, and with which rights. */
export interface AccessOptions<Spec, Config, Data> {
  /** The end user cluster. */
  mcp: Computed<DeclaredAccess, Spec, Config, Data>;
  /** The workload cluster; default: no rights. */
  workload?: Computed<DeclaredAccess, Spec, Config, Data>;
  /** Further clusters, by ids of the provider's own; the key in `ctx.clusters` and default end of their names. */
  clusters?: Record<string, Registration<Spec, Config, Data>>;
  /**
   * Called once in each pass; what it returns is given to everything that is computed here. What it throws is retried.
   */
  additionalData?: (
    object: ServiceObjectOf<Spec>,
    config: Config,
    io: { platform: KubeClient; home: KubeClient; tenantNamespace: string },
  ) => Data | Promise<Data>;
  /** Other labels than the default on an object's requests. They have to stay the same for the object's whole life. */
  labels?: (object: { namespace: string; name: string }, id: string) => ManagedLabels;
}

interface CommonOptions<Spec extends z.ZodType, Config extends z.ZodType, Data> {
  /** Name of the provider and of its ProviderConfig; a DNS label. `--provider-name` overrides it at run time. */
  name: string;
  api: ServiceApi<Spec>;
  /** What platform operators can configure; without it there is no ProviderConfig, and `ctx.config` is undefined. */
  config?: ProviderConfigApi<Config> | undefined;
  /** Whether a workload cluster is ordered for each object. A provider without one can't serve kcp. */
  workloadCluster: boolean;
  /** Rights on the ordered clusters, and further clusters. */
  access: AccessOptions<z.output<Spec>, z.output<Config>, Data>;
  /** Finalizer on the object; default `<api group>/finalizer`. */
  finalizer?: string;
  /** First part of request names and value of the managed-by label; default the provider's name. */
  controllerName?: string;
  /** The same for the access to the onboarding cluster; default `controllerName`. */
  onboardingControllerName?: string;
  /** Rights on the onboarding cluster beyond those that the runtime needs there itself. */
  onboarding?: OnboardingRights;
  /** Own steps of `service-provider init`, after its types are served. Must be idempotent. */
  init?(ctx: InitContext): Promise<void>;
  /**
   * Secrets in the provider's own namespace on the platform cluster: a change of their data runs every object again, and
   * copies of them are kept where `copyTo` says, for as long as the object lives. Called without a ProviderConfig where
   * there is none, or none that is valid. A provider that needs none any more goes on returning `[]`.
   */
  referencedSecrets?(config: z.output<Config> | undefined): readonly (string | ReferencedSecret<z.output<Spec>>)[];
  /** The same for ConfigMaps; they are not copied. */
  referencedConfigMaps?(config: z.output<Config> | undefined): readonly string[];
  /** Called on every change, and again until it returns nothing. Must be idempotent. */
  createOrUpdate(ctx: ProviderContext<z.output<Config>>, object: ServiceObjectOf<z.output<Spec>>): Promise<CallResult>;
}

/** A provider that serves control planes. */
export interface StandardProviderOptions<
  Spec extends z.ZodType,
  Config extends z.ZodType,
  Data = undefined,
> extends CommonOptions<Spec, Config, Data> {
  kcp?: undefined;
  /** Called until it returns nothing, which says that all is gone. Must be idempotent. */
  delete(ctx: ProviderContext<z.output<Config>>, object: ServiceObjectOf<z.output<Spec>>): Promise<CallResult>;
}

/** A provider that serves kcp workspaces as well. */
export interface KcpProviderOptions<
  Spec extends z.ZodType,
  Config extends z.ZodType,
  Data = undefined,
> extends CommonOptions<Spec, Config, Data> {
  /** Its presence makes kcp possible. `permissionClaims` are those beyond the runtime's own. */
  kcp: { exportName?: string; permissionClaims?: PermissionClaim[] };
  /** Called until it returns nothing, which says that all is gone. Must be idempotent, and cope without `ctx.mcp`. */
  delete(ctx: DeleteContext<z.output<Config>>, object: ServiceObjectOf<z.output<Spec>>): Promise<CallResult>;
}

export type ProviderOptions<Spec extends z.ZodType, Config extends z.ZodType, Data = undefined> =
  StandardProviderOptions<Spec, Config, Data> | KcpProviderOptions<Spec, Config, Data>;

/** A provider with every default filled in. The runtime needs no more of its types than that. */
export interface Provider {
  readonly name: string;
  readonly api: ServiceApi<z.ZodType>;
  readonly config: ProviderConfigApi<z.ZodType> | undefined;
  readonly workloadCluster: boolean;
  readonly access: Required<Pick<AccessOptions<unknown, unknown, unknown>, 'mcp' | 'workload' | 'clusters'>> &
    Pick<AccessOptions<unknown, unknown, unknown>, 'additionalData' | 'labels'>;
  readonly kcp: { exportName: string; permissionClaims: readonly PermissionClaim[] } | undefined;
  readonly finalizer: string;
  readonly controllerName: string;
  readonly onboardingControllerName: string;
  readonly onboarding: OnboardingRights;
  readonly init: ((ctx: InitContext) => Promise<void>) | undefined;
  readonly referencedSecrets: ((config: unknown) => readonly (string | ReferencedSecret<unknown>)[]) | undefined;
  readonly referencedConfigMaps: ((config: unknown) => readonly string[]) | undefined;
  createOrUpdate(ctx: ProviderContext<unknown>, object: ServiceObjectOf<unknown>): Promise<CallResult>;
  delete(ctx: DeleteContext<unknown>, object: ServiceObjectOf<unknown>): Promise<CallResult>;
}

const DNS_LABEL = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;

/** A provider that has a ProviderConfig. */
export interface ConfiguredProvider extends Provider {
  readonly config: ProviderConfigApi<z.ZodType>;
}

/**
 * Declares a service provider.
 * @throws RuntimeError `INVALID_PROVIDER` naming the field and the remedy
 */
export function defineProvider<Spec extends z.ZodType, Config extends z.ZodType, Data = undefined>(
  options: KcpProviderOptions<Spec, Config, Data> & { config: ProviderConfigApi<Config> },
): ConfiguredProvider;
export function defineProvider<Spec extends z.ZodType, Config extends z.ZodType, Data = undefined>(
  options: StandardProviderOptions<Spec, Config, Data> & { config: ProviderConfigApi<Config> },
): ConfiguredProvider;
export function defineProvider<Spec extends z.ZodType, Data = undefined>(
  options: StandardProviderOptions<Spec, z.ZodUndefined, Data> & { config?: undefined },
): Provider;
export function defineProvider<Spec extends z.ZodType, Config extends z.ZodType, Data = undefined>(
  options: ProviderOptions<Spec, Config, Data>,
): Provider {
  const fail = (problem: string): never => {
    throw new RuntimeError('INVALID_PROVIDER', `provider ${options.name}: ${problem}`);
  };
  if (!DNS_LABEL.test(options.name)) fail('name must be a DNS label (lower case letters, digits, hyphens)');
  if (options.kcp && !options.workloadCluster)
    fail('kcp needs workloadCluster: true, since nothing can run inside a kcp workspace; or remove kcp');
  if (options.config?.kcp && !options.kcp)
    fail('the ProviderConfig offers spec.kcp, but the provider declares no kcp; declare it, or set kcp: false there');
  if (options.kcp && !options.config?.kcp)
    fail('kcp is declared, but the ProviderConfig has no spec.kcp; set kcp: true in providerConfig(…)');
  const problem = registrationProblem(options.access.clusters ?? {});
  if (problem) fail(problem);
  const controllerName = options.controllerName ?? options.name;
  const { type } = options.api;
  return {
    name: options.name,
    api: options.api,
    config: options.config,
    workloadCluster: options.workloadCluster,
    access: { workload: {}, clusters: {}, ...options.access } as Provider['access'],
    kcp: options.kcp && {
      exportName: options.kcp.exportName ?? type.group,
      permissionClaims: options.kcp.permissionClaims ?? [],
    },
    finalizer: options.finalizer ?? `${type.group}/finalizer`,
    controllerName,
    onboardingControllerName: options.onboardingControllerName ?? controllerName,
    onboarding: options.onboarding ?? {},
    init: options.init,
    referencedSecrets: options.referencedSecrets as Provider['referencedSecrets'],
    referencedConfigMaps: options.referencedConfigMaps as Provider['referencedConfigMaps'],
    createOrUpdate: options.createOrUpdate,
    // Only providers that declare kcp ever meet an end user cluster that is gone.
    delete: options.delete,
  };
}

/** Two registrations with the same end would get the same names. */
function registrationProblem(clusters: Record<string, { suffix?: string }>): string | undefined {
  const taken = new Map([
    ['mcp', 'mcp'],
    ['wl', 'workload'],
  ]);
  for (const [id, { suffix = id }] of Object.entries(clusters)) {
    const field = `access.clusters.${id}`;
    if (id === 'mcp' || id === 'workload') return `${field}: this id has a meaning; declare access.${id}, or rename it`;
    if (!DNS_LABEL.test(id)) return `${field}: the id must be a DNS label (lower case letters, digits, hyphens)`;
    if (!/^[a-z0-9]([-a-z0-9]{0,29}[a-z0-9])?$/.test(suffix))
      return `${field}.suffix: must be at most 31 lower case letters, digits and hyphens`;
    if (taken.has(suffix)) return `${field}.suffix: ${suffix} is that of ${taken.get(suffix)}; choose another`;
    taken.set(suffix, id);
  }
  return undefined;
}

/** The same provider under another name, as `--provider-name` asks. Names derived from the old one follow. */
export function renamed(provider: Provider, name: string): Provider {
  if (!DNS_LABEL.test(name))
    throw new RuntimeError('INVALID_SETTINGS', `--provider-name ${name}: must be a DNS label (a-z, 0-9, hyphens)`);
  const follow = (value: string): string => (value === provider.name ? name : value);
  return {
    ...provider,
    name,
    controllerName: follow(provider.controllerName),
    onboardingControllerName: follow(provider.onboardingControllerName),
  };
}
