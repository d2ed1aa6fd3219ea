import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { dispatcherTimes } from '../../functions/host/dispatcher-times.ts';
import type { FunctionName } from '../../shared/events/catalogue.ts';
import { attend, type AttendedOptions, checkAttended } from './attend.ts';
import { startRuntime } from './compose.ts';
import { createMetrics } from './metrics.ts';
import { openOnboarding } from './onboarding.ts';
import { followReach } from './reach.ts';
import { functionSettings, jobSettings, redisSettings } from './settings.ts';
import { setUp } from './setup.ts';
import { leaseTimes } from './workers.ts';

export interface RunOptions extends AttendedOptions {
  leaderElect: boolean;
  dispatched: boolean;
  publishEndpoint: boolean;
}

/** What one process does. */
export interface Parts {
  bridge: boolean;
  functions: readonly FunctionName[];
}

/** `service-provider run`, `bridge` or `function <name>`: until SIGTERM or SIGINT. */
export async function run(parts: Parts, options: RunOptions): Promise<void> {
  const setup = await setUp(options, { redis: true });
  const { env, provider, platform, files, log } = setup;
  checkAttended(options, { knowsCluster: true, publish: options.publishEndpoint });
  const redis = redisSettings(env);
  const metrics = createMetrics(provider.name);
  const onboarding = await openOnboarding(setup);
  const times = leaseTimes(env.LEASE_DURATION);
  const running = await startRuntime({
    ...parts,
    provider,
    platform,
    onboarding: onboarding.client,
    redis,
    ...functionSettings(env),
    ...jobSettings(env),
    leaseMs: times.leaseMs,
    longestLeaseMs: options.dispatched
      ? dispatcherTimes(env.RUN_LIMIT, times, env.COLD_START_LIMIT).leaseMs
      : times.leaseMs,
    leaderElection: options.leaderElect
      ? { namespace: env.POD_NAMESPACE, identity: `${env.POD_NAME ?? hostname()}_${randomUUID()}` }
      : undefined,
    onStep: metrics.step,
    log,
  });
  metrics.watch(running.stats);
  const reach = followReach({ provider, platform, onboarding, namespace: env.POD_NAMESPACE });
  const problems = (): string[] => [
    ...files.problems(),
    ...onboarding.problems(),
    ...reach.problems(),
    ...running.ready(),
  ];
  const publish = options.publishEndpoint ? { provider: provider.name, publish: running.publish } : undefined;
  await attend(options, { provider: provider.name, platform, metrics, publish, problems, log });
  onboarding.stop();
  reach.stop();
  await running.stop();
  log.info('stopped');
}
