import { initProvider } from '../../functions/init/init.ts';
import { orderOnboardingAccess } from '../../functions/access/onboarding.ts';
import { type CommonOptions, givenOnboarding, setUp } from './setup.ts';
import { INIT_TIMEOUT_MS } from './tuning.ts';

/** `service-provider init`: ends when everything is ready for `run`. */
export async function init(options: CommonOptions): Promise<void> {
  const { env, provider, platform, log } = await setUp(options, { redis: false });
  const signal = AbortSignal.timeout(INIT_TIMEOUT_MS);
  const onboarding =
    (await givenOnboarding(env)) ??
    (await orderOnboardingAccess(platform, provider, 'init', env.POD_NAMESPACE, log, signal, env.LOCAL_ACCESS));
  const { environment } = options;
  await initProvider({
    provider,
    platform,
    onboarding,
    providerNamespace: env.POD_NAMESPACE,
    environment,
    signal,
    log,
  });
  log.info('initialised');
}
