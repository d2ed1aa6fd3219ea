import { z } from 'zod';
import type { Provider } from '../../../shared/provider/provider.ts';
import type { KubeClient } from '../../../shared/kube/ports.ts';
import { CONFIG_MAPS } from '../../../shared/kube/resources.ts';
import type { AccessSpec } from '../../../shared/model/access.ts';
import type { KubeObject } from '../../../shared/model/kubernetes.ts';

/**
 * Providers with the API groups, kinds, names and ProviderConfigs of public ones. What they install is one ConfigMap that
 * tells what the ProviderConfig says about the ordered version, so that a test sees that it was understood.
 */

export const ACCESS: AccessSpec = {
  permissions: [
    { rules: [{ apiGroups: [''], resources: ['configmaps'], verbs: ['get', 'create', 'patch', 'delete'] }] },
  ],
};

/** Name of the ConfigMap of a provider. */
export const installedBy = (provider: string): string => `installed-by-${provider}`;

export async function install(client: KubeClient, provider: string, data: Record<string, string>): Promise<void> {
  const metadata = { name: installedBy(provider), namespace: 'default' };
  await client.apply(CONFIG_MAPS, { metadata, data } as KubeObject);
}

export async function uninstall(client: KubeClient, provider: string): Promise<void> {
  await client.delete(CONFIG_MAPS, installedBy(provider), { namespace: 'default' });
}

/** A public provider, a ProviderConfig as its users have it, an order, and what that installs. */
export interface PublicProvider {
  provider: Provider;
  /** Undefined: the provider has none. */
  config: Record<string, unknown> | undefined;
  order: Record<string, unknown>;
  installed: Record<string, string>;
  /** How soon a Ready object is looked at again; undefined: not by itself. */
  pollMs: number | undefined;
}

/** Fields that several ProviderConfigs have. */
export const pollInterval = { pollInterval: z.string().meta({ format: 'duration' }).default('1m') };
export const values = z.record(z.string(), z.unknown()).optional();
