import type { z } from 'zod';
import type { KcpSettings } from '../kcp/settings.ts';
import type { ResourceType } from '../model/kubernetes.ts';

export type { KcpSettings };

/** The provider's Service API: what a tenant creates. Made by `serviceApi(…)`. */
export interface ServiceApi<Spec extends z.ZodType> {
  readonly type: ResourceType;
  readonly spec: Spec;
  /** The CustomResourceDefinition for the onboarding cluster. */
  crd(): object;
  /** The kcp APIResourceSchema of the same type; its name holds a hash of its content. */
  apiResourceSchema(): { metadata: { name: string } } & Record<string, unknown>;
}

/** Fields of a ProviderConfig that the runtime itself reads. */
export interface RuntimeConfig {
  /** How often a Ready object is looked at again; undefined: only when all objects are, every 10 minutes. */
  pollIntervalMs: number | undefined;
  kcp: KcpSettings | undefined;
}

/** The provider's own configuration, written by platform operators. Made by `providerConfig(…)`. */
export interface ProviderConfigApi<Config extends z.ZodType> {
  /** Cluster-scoped. */
  readonly type: ResourceType;
  readonly spec: Config;
  /** Whether `spec.kcp` exists. */
  readonly kcp: boolean;
  crd(): object;
  /**
   * Checks `spec` of a ProviderConfig.
   * @throws RuntimeError `INVALID_PROVIDER_CONFIG` naming the field and the remedy
   */
  parse(object: { metadata: { name: string }; spec?: unknown }): { config: z.output<Config>; runtime: RuntimeConfig };
}
