import type { Provider } from '../../shared/provider/provider.ts';
import { installCrds } from '../../functions/init/install-crds.ts';
import { NAMESPACES, SECRETS } from '../../shared/kube/resources.ts';
import type { Secret } from '../../shared/model/access.ts';
import { mergePatchOf } from '../../shared/model/json.ts';
import type { KubeObject, KubeObjectOf } from '../../shared/model/kubernetes.ts';
import type { Landscape } from './landscape.ts';

/** The provider's own namespace on the platform cluster. */
export const PROVIDER_NAMESPACE = 'service-provider';
export const KCP_SECRET = 'kcp-kubeconfig';

export interface InstallOptions {
  /** Serve kcp workspaces too. */
  kcp?: boolean;
  /** Further fields of the ProviderConfig's spec. */
  config?: Record<string, unknown>;
  /** The provider's own; default {@link PROVIDER_NAMESPACE}. */
  namespace?: string;
}

/** What a platform operator does for a provider: types, namespace, kcp access, ProviderConfig. */
export async function installProvider(
  landscape: Landscape,
  provider: Provider,
  options: InstallOptions = {},
): Promise<void> {
  const { platform, onboarding } = landscape;
  const { namespace = PROVIDER_NAMESPACE } = options;
  await Promise.all([
    provider.config && installCrds(platform.client, [provider.config.crd()]),
    installCrds(onboarding.client, [provider.api.crd()]),
    platform.client.apply(NAMESPACES, { metadata: { name: namespace } }),
  ]);
  if (options.kcp) {
    const kubeconfig = await landscape.runtimeKcpIdentity();
    await platform.client.apply<Secret>(SECRETS, {
      metadata: { name: KCP_SECRET, namespace },
      data: { kubeconfig: Buffer.from(kubeconfig).toString('base64') },
    });
  }
  await writeProviderConfig(landscape, provider, options);
}

export async function writeProviderConfig(
  { platform, services }: Landscape,
  provider: Provider,
  { kcp = false, config = {}, namespace = PROVIDER_NAMESPACE }: InstallOptions = {},
): Promise<void> {
  if (!provider.config) return;
  const kcpSettings = {
    kcp: {
      providerWorkspace: services.path,
      kubeconfigSecret: { name: KCP_SECRET, namespace },
    },
  };
  const { type } = provider.config;
  const spec = { ...config, ...(kcp ? kcpSettings : {}) };
  const before = await platform.client.get<KubeObjectOf<{ spec?: object }>>(type, provider.name);
  if (!before) {
    await platform.client.apply(type, { metadata: { name: provider.name }, spec } as KubeObject);
    return;
  }
  // Applying a spec that lost its last field would set it to null, which its type refuses.
  const patch = mergePatchOf(before.spec ?? {}, spec);
  if (patch) await platform.client.mergePatch(type, provider.name, { spec: patch });
}
