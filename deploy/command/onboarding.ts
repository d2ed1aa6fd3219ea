import { type OnboardingUse, orderOnboardingAccess } from '../../functions/access/onboarding.ts';
import { messageOf } from '../../shared/errors.ts';
import { HttpKubeClient } from '../../shared/kube/client.ts';
import { redact } from '../../shared/redact.ts';
import { givenOnboarding, type Setup } from './setup.ts';
import { ONBOARDING_RETRY_MS } from './tuning.ts';

export interface Onboarding {
  /** Answers "not yet" until there is access. */
  readonly client: HttpKubeClient;
  problems(): string[];
  /** Gives up waiting for access. */
  stop(): void;
}

/** Access to the onboarding cluster, given or ordered, for a command that ends. Rejects when the signal fires before. */
export function onboardingFor(setup: Setup, use: OnboardingUse, signal: AbortSignal): Promise<HttpKubeClient> {
  return givenOnboarding(setup) ?? orderOnboarding(setup, use, signal);
}

/**
 * The same for one that runs: what is ordered is waited for in the background, and ordered again when that fails.
 * @throws RuntimeError `INVALID_SETTINGS` where what is given can't be used
 */
export async function openOnboarding(setup: Setup): Promise<Onboarding> {
  const given = await givenOnboarding(setup);
  if (given) return { client: given, problems: () => [], stop: () => undefined };
  const { log } = setup;
  const stopping = new AbortController();
  const { signal } = stopping;
  const missing = 'no access to the onboarding cluster yet';
  let problems = [missing];
  const ready = retried(
    () => orderOnboarding(setup, 'run', signal),
    (error) => {
      const message = redact(messageOf(error));
      problems = [`${missing}: ${message}`];
      log.warn({ err: { message } }, 'onboarding cluster');
    },
    signal,
  );
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

function orderOnboarding({ env, provider, platform, log }: Setup, use: OnboardingUse, signal: AbortSignal) {
  return orderOnboardingAccess(platform, provider, use, env.POD_NAMESPACE, log, signal, env.LOCAL_ACCESS);
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
