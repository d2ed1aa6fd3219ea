import type { z } from 'zod';
import { RuntimeError } from '../errors.ts';
import type { PermissionClaim } from '../model/access.ts';
import type { CallResult, DeleteContext, InitContext, ProviderContext, ServiceObjectOf } from './context.ts';
import {
  type AccessOptions,
  type ConfiguredProvider,
  DNS_LABEL,
  type OnboardingRights,
  type Provider,
} from './provider.ts';
import type { ReferencedSecret } from './references.ts';
import type { ProviderConfigApi, ServiceApi } from './types.ts';

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
