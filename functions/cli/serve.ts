import { once } from 'node:events';
import { messageOf, RuntimeError } from '../../shared/errors.ts';
import type { FunctionName } from '../../shared/events/catalogue.ts';
import { clientForOwnConfig, HttpKubeClient, ownKubeConfig } from '../../shared/kube/client.ts';
import { createLogger, type LogLevel } from '../../shared/log.ts';
import { startRuntime } from '../compose.ts';
import { orderOnboardingAccess } from '../onboarding.ts';
import { serveHealth } from './health.ts';
import { loadProvider } from './provider-module.ts';
import { parseEnvironment, redisSettings, workspaceTuning } from './settings.ts';

export interface ServeOptions {
  provider?: string;
  providerName?: string;
  environment?: string;
  verbosity: string;
  healthProbeBindAddress: string;
}

/** What one process does. */
export interface Parts {
  bridge: boolean;
  functions: readonly FunctionName[];
}

/** The operator's `--verbosity`, and pino's own names. */
const LEVELS: Readonly<Record<string, LogLevel>> = {
  error: 'error',
  warn: 'warn',
  info: 'info',
  debug: 'debug',
  trace: 'trace',
};

const ONBOARDING_RETRY_MS = 5_000;

/** Runs until SIGTERM or SIGINT. */
export async function serve(parts: Parts, options: ServeOptions): Promise<void> {
  const env = parseEnvironment(process.env);
  const level = LEVELS[options.verbosity.toLowerCase()];
  if (!level)
    throw new RuntimeError(
      'INVALID_SETTINGS',
      `--verbosity ${options.verbosity}: use ${Object.keys(LEVELS).join(', ')}`,
    );
  const provider = await loadProvider(options.provider ?? env.SERVICE_PROVIDER_MODULE, options.providerName);
  const log = createLogger(level, provider.name, env.LOG_FILE);
  const stopping = new AbortController();
  const platform = await clientForOwnConfig(ownKubeConfig(env.KUBECONFIG));

  let onboardingProblem: string | undefined = 'no access to the onboarding cluster yet';
  const onboardingReady = env.ONBOARDING_KUBECONFIG
    ? clientForOwnConfig(ownKubeConfig(env.ONBOARDING_KUBECONFIG))
    : retried(
        () => orderOnboardingAccess(platform, provider, env.POD_NAMESPACE, log, stopping.signal),
        (error) => log.warn({ err: { message: messageOf(error) } }, 'onboarding cluster'),
        stopping.signal,
      );
  const gone = onboardingReady.then(
    () => (onboardingProblem = undefined),
    () => undefined,
  );

  const running = await startRuntime({
    provider,
    platform,
    onboarding: HttpKubeClient.deferred('onboarding cluster', onboardingReady),
    redis: redisSettings(env),
    providerNamespace: env.POD_NAMESPACE,
    bridge: parts.bridge,
    functions: parts.functions,
    concurrency: env.CONCURRENCY,
    runLimitMs: env.RUN_LIMIT,
    leaseMs: env.LEASE_DURATION,
    jobLockMs: env.JOB_LOCK_DURATION,
    stalledCheckMs: Math.ceil(env.JOB_LOCK_DURATION / 3),
    kcpExternalUrl: env.KCP_EXTERNAL_URL,
    workspaceTuning: workspaceTuning(env),
    log,
  });
  const health = await serveHealth(options.healthProbeBindAddress, () => [
    ...(onboardingProblem ? [onboardingProblem] : []),
    ...running.ready(),
  ]);
  log.info({ bridge: parts.bridge, functions: parts.functions, environment: options.environment }, 'started');
  await Promise.race([once(process, 'SIGTERM'), once(process, 'SIGINT')]);
  log.info('stopping');
  stopping.abort();
  await health?.close();
  await running.stop();
  await gone;
  log.info('stopped');
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
