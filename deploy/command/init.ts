import { initProvider } from '../../functions/init/init.ts';
import { onboardingFor } from './onboarding.ts';
import { type CommonOptions, setUp } from './setup.ts';
import { INIT_TIMEOUT_MS } from './tuning.ts';

/** `service-provider init`: ends when everything is ready for `run`. */
export async function init(options: CommonOptions): Promise<void> {
  const setup = await setUp(options, { redis: false });
  const { env, provider, platform, log } = setup;
  const signal = AbortSignal.timeout(INIT_TIMEOUT_MS);
  const onboarding = await onboardingFor(setup, 'init', signal);
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
