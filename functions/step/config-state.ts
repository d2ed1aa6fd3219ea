import { messageOf } from '../../shared/errors.ts';
import type { KubeClient } from '../../shared/kube/ports.ts';
import type { KubeObjectOf } from '../../shared/model/kubernetes.ts';
import { settingsInForce } from '../../shared/kcp/settings.ts';
import { isDeleting } from '../../shared/status.ts';
import type { RuntimeConfig } from '../../shared/provider/types.ts';
import { REASONS_BEFORE_INSTALL as REASON } from './flow.ts';
import type { Provider } from '../../shared/provider/provider.ts';

/** The ProviderConfig as one invocation found it. */
export type ConfigState =
  | { readonly state: 'ok'; readonly config: unknown; readonly runtime: RuntimeConfig; readonly generation?: number }
  | { readonly state: 'unusable'; readonly reason: string; readonly message: string };

const NO_CONFIG: ConfigState = {
  state: 'ok',
  config: undefined,
  runtime: { pollIntervalMs: undefined, kcp: undefined },
};

/** Reads and checks the ProviderConfig, which is named after the provider. Rejects only when it can't be read. */
export async function readProviderConfig(platform: KubeClient, provider: Provider): Promise<ConfigState> {
  if (!provider.config) return NO_CONFIG;
  const { type } = provider.config;
  const object = await platform.get<KubeObjectOf<{ spec?: unknown }>>(type, provider.name);
  if (!object)
    return {
      state: 'unusable',
      reason: REASON.noProviderConfig,
      message: `No ${type.kind} named ${provider.name} (${type.plural}.${type.group}) on the platform cluster; create it`,
    };
  if (isDeleting(object))
    return {
      state: 'unusable',
      reason: REASON.providerConfigDeleting,
      message: `${type.kind} ${provider.name} is marked for deletion; create it again once it is gone`,
    };
  try {
    const { config, runtime } = provider.config.parse(object);
    // Others that are wanted already wait until nothing is served by these.
    const { generation } = object.metadata;
    const inForce = { ...runtime, kcp: settingsInForce(object) ?? runtime.kcp };
    return { state: 'ok', config, runtime: inForce, ...(generation === undefined ? {} : { generation }) };
  } catch (error) {
    return { state: 'unusable', reason: REASON.invalidProviderConfig, message: messageOf(error) };
  }
}
