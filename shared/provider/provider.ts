import type { z } from 'zod';
import { RuntimeError } from '../errors.ts';
import type { KubeClient } from '../kube/ports.ts';
import type { PermissionClaim, PermissionsRequest } from '../model/access.ts';
import type { CallResult, DeleteContext, InitContext, ProviderContext, ServiceObjectOf } from './context.ts';
import type { ReferencedSecret } from './references.ts';
import type { Computed, DeclaredAccess, ManagedLabels, Registration } from './registration.ts';
import type { ProviderConfigApi, ServiceApi } from './types.ts';

/** `init` installs types and ends; `run` serves objects for years. So their rights are asked for apart. */
export interface OnboardingRights {
  init?: PermissionsRequest[];
  run?: PermissionsRequest[];
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
   * Called at most once in each invocation of a function, unless the object changed meanwhile; what it returns is given to
   * everything that is computed here. What it throws is retried.
   */
  additionalData?: (
    object: ServiceObjectOf<Spec>,
    config: Config,
    io: { platform: KubeClient; home: KubeClient; tenantNamespace: string },
  ) => Data | Promise<Data>;
  /** Other labels than the default on an object's requests. They have to stay the same for the object's whole life. */
  labels?: (object: { namespace: string; name: string }, id: string) => ManagedLabels;
}

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

/** A provider that has a ProviderConfig. */
export interface ConfiguredProvider extends Provider {
  readonly config: ProviderConfigApi<z.ZodType>;
}

/** Names of providers and ids of their clusters. */
export const DNS_LABEL = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;

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
