import type { Logger } from 'pino';
import { orderOnboardingAccess } from '../../functions/access/onboarding.ts';
import { messageOf } from '../../shared/errors.ts';
import { HttpKubeClient } from '../../shared/kube/client.ts';
import type { KubeClient } from '../../shared/kube/ports.ts';
import type { Provider } from '../../shared/provider/provider.ts';
import type { Environment } from './settings.ts';
import { givenOnboarding } from './setup.ts';
import { ONBOARDING_RETRY_MS } from './tuning.ts';

export interface Onboarding {
  /** Answers "not yet" until there is access. */
  readonly client: HttpKubeClient;
  problems(): string[];
  /** Gives up waiting for access. */
  stop(): void;
}

/** Access to the onboarding cluster: given, or ordered through the platform cluster and waited for in the background. */
export function openOnboarding(env: Environment, provider: Provider, platform: KubeClient, log: Logger): Onboarding {
  const stopping = new AbortController();
  const { signal } = stopping;
  const ready =
    givenOnboarding(env) ??
    retried(
      () => orderOnboardingAccess(platform, provider, 'run', env.POD_NAMESPACE, log, signal, env.LOCAL_ACCESS),
      (error) => log.warn({ err: { message: messageOf(error) } }, 'onboarding cluster'),
      signal,
    );
  let problems = ['no access to the onboarding cluster yet'];
  ready.then(
    () => (problems = []),
    () => undefined, // given up
  );
  return {
    client: HttpKubeClient.deferred('onboarding cluster', ready),
    problems: () => problems,
    stop: () => stopping.abort(),
  };
}

async function retried<T>(
  attempt: () => Promise<T>,
  onError: (error: unknown) => void,
  signal: AbortSignal,
): Promise<T> {
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      if (signal.aborted) throw error;
      onError(error);
      await new Promise((resolve) => {
        setTimeout(resolve, ONBOARDING_RETRY_MS).unref();
        signal.addEventListener('abort', resolve, { once: true });
      });
    }
  }
}
