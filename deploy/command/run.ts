import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { hostname } from 'node:os';
import { messageOf } from '../../shared/errors.ts';
import type { FunctionName } from '../../shared/events/catalogue.ts';
import { HttpKubeClient } from '../../shared/kube/client.ts';
import { startRuntime } from './compose.ts';
import { orderOnboardingAccess } from '../../functions/access/onboarding.ts';
import { serveHealth } from './health.ts';
import { createMetrics } from './metrics.ts';
import { serveMetrics } from './metrics-server.ts';
import { redisSettings, workspaceTuning } from './settings.ts';
import { type CommonOptions, givenOnboarding, setUp } from './setup.ts';
import { ONBOARDING_RETRY_MS } from './tuning.ts';

export interface ServeOptions extends CommonOptions {
  healthProbeBindAddress: string;
  metricsBindAddress: string;
  metricsSecure: boolean;
  metricsCertPath?: string;
  metricsCertName: string;
  metricsCertKey: string;
  leaderElect: boolean;
}

/** What one process does. */
export interface Parts {
  bridge: boolean;
  functions: readonly FunctionName[];
}

/** Runs until SIGTERM or SIGINT. */
export async function serve(parts: Parts, options: ServeOptions): Promise<void> {
  const { env, provider, platform, log } = await setUp(options, { redis: true });
  const metrics = createMetrics(provider.name);
  const stopping = new AbortController();

  let onboardingProblem: string | undefined = 'no access to the onboarding cluster yet';
  const onboardingReady =
    givenOnboarding(env) ??
    retried(
      () => orderOnboardingAccess(platform, provider, 'run', env.POD_NAMESPACE, log, stopping.signal, env.LOCAL_ACCESS),
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
    localAccess: env.LOCAL_ACCESS,
    leaderElection: options.leaderElect
      ? { namespace: env.POD_NAMESPACE, identity: `${env.POD_NAME ?? hostname()}_${randomUUID()}` }
      : undefined,
    onStep: metrics.step,
    log,
  });
  const health = await serveHealth(options.healthProbeBindAddress, () => [
    ...(onboardingProblem ? [onboardingProblem] : []),
    ...running.ready(),
  ]);
  metrics.watch(running.stats);
  const { metricsCertPath: folder } = options;
  const metricsServer = await serveMetrics({
    address: options.metricsBindAddress,
    secure: options.metricsSecure,
    certificate:
      folder === undefined ? undefined : { folder, cert: options.metricsCertName, key: options.metricsCertKey },
    provider: provider.name,
    platform,
    metrics,
    log,
  });
  log.info({ bridge: parts.bridge, functions: parts.functions, environment: options.environment }, 'started');
  await Promise.race([once(process, 'SIGTERM'), once(process, 'SIGINT')]);
  log.info('stopping');
  stopping.abort();
  await Promise.all([health?.close(), metricsServer?.close()]);
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
