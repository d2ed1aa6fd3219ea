import { messageOf } from '../../shared/errors.ts';
import type { KubeClient } from '../../shared/kube/ports.ts';
import type { KubeObject, KubeObjectOf } from '../../shared/model/kubernetes.ts';
import { settingsInForce } from '../../shared/kcp/settings.ts';
import type { Mode } from '../../shared/model/object-key.ts';
import { registrationsInForceAnnotation } from '../../shared/names.ts';
import { isDeleting } from '../../shared/status.ts';
import type { RuntimeConfig } from '../../shared/provider/types.ts';
import { REASONS_BEFORE_INSTALL as REASON } from './flow.ts';
import type { Provider } from '../../shared/provider/provider.ts';

/** The ProviderConfig as one invocation found it. */
export type ConfigState = (
  | { readonly state: 'ok'; readonly config: unknown; readonly runtime: RuntimeConfig; readonly generation?: number }
  | { readonly state: 'unusable'; readonly reason: string; readonly message: string }
) & {
  /** By mode, the fingerprint of the registrations of whoever leads it. */
  readonly inForce?: Readonly<Partial<Record<Mode, string>>>;
};

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
  const inForce = registrationsInForce(object);
  if (isDeleting(object))
    return {
      inForce,
      state: 'unusable',
      reason: REASON.providerConfigDeleting,
      message: `${type.kind} ${provider.name} is marked for deletion; create it again once it is gone`,
    };
  try {
    const { config, runtime } = provider.config.parse(object);
    // Others that are wanted already wait until nothing is served by these.
    const { generation } = object.metadata;
    const settings = { ...runtime, kcp: settingsInForce(object) ?? runtime.kcp };
    return { inForce, state: 'ok', config, runtime: settings, ...(generation === undefined ? {} : { generation }) };
  } catch (error) {
    return { inForce, state: 'unusable', reason: REASON.invalidProviderConfig, message: messageOf(error) };
  }
}

function registrationsInForce({ metadata: { annotations = {} } }: KubeObject): Partial<Record<Mode, string>> {
  const entries = (['standard', 'kcp'] as const).flatMap((mode) => {
    const value = annotations[registrationsInForceAnnotation(mode)];
    return value === undefined ? [] : [[mode, value] as const];
  });
  return Object.fromEntries(entries);
}
