import type { Logger } from 'pino';
import type { KubeClient } from '../../shared/kube/ports.ts';
import type { Provider } from '../../shared/provider/provider.ts';
import { crdTargets } from './decide-targets.ts';
import { installCrds } from './install-crds.ts';
import { registerKind } from './register-kind.ts';

export interface InitOptions {
  provider: Provider;
  platform: KubeClient;
  onboarding: KubeClient;
  providerNamespace: string;
  environment: string | undefined;
  signal: AbortSignal;
  log: Logger;
}

/**
 * Makes everything ready for `run`: the provider's types on the clusters that their labels name, its own steps, and its
 * kind at its ServiceProvider. Idempotent: the operator runs it again after each change of the ServiceProvider.
 */
export async function initProvider(options: InitOptions): Promise<void> {
  const { provider, platform, onboarding, providerNamespace, environment, signal, log } = options;
  const install = async (crds: readonly object[]): Promise<void> => {
    const targets = crdTargets(crds);
    await Promise.all([installCrds(platform, targets.platform), installCrds(onboarding, targets.onboarding)]);
  };
  await install([provider.api.crd(), ...(provider.config ? [provider.config.crd()] : [])]);
  log.info('types are installed');
  await provider.init?.({ platform, onboarding, providerNamespace, environment, installCrds: install, signal, log });
  // Last: what is registered can be ordered.
  await registerKind(platform, provider, log);
}
