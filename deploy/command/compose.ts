import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import type { Logger } from 'pino';
import { type Bridge, startBridge } from '../../bridge/bridge.ts';
import type { BridgeStats } from '../../bridge/part.ts';
import type { LeaderElection } from '../../bridge/lead/leader.ts';
import type { BridgeTuning } from '../../bridge/tuning.ts';
import { messageOf } from '../../shared/errors.ts';
import { FUNCTION_NAMES, type FunctionName } from '../../shared/events/catalogue.ts';
import type { HttpKubeClient } from '../../shared/kube/client.ts';
import { DeliveryState } from '../../shared/queue/delivery-state.ts';
import { queueKeys } from '../../shared/queue/keys.ts';
import { BullPublisher } from '../../shared/queue/publisher.ts';
import {
  openRedis,
  evictionProblem,
  type RedisSettings,
  senderConnection,
  workerConnection,
} from '../../shared/queue/redis.ts';
import { LEASE_MARGIN_MS, LEASE_MS, LEASE_RENEWAL_MS, RUN_LIMIT_MS } from '../../shared/tuning.ts';
import type { WorkspaceTuning } from '../../shared/kcp/workspace-port.ts';
import type { DeliveredStep } from '../../functions/host/deliver.ts';
import { type RunningWorker, startWorker } from '../../functions/host/worker.ts';
import type { Provider } from '../../shared/provider/provider.ts';
import { FunctionRuntime } from '../../functions/runtime.ts';
import { SHUTDOWN_PATIENCE_MS, SHUTDOWN_LIMIT_MS, DEFAULT_CONCURRENCY } from './tuning.ts';

export interface RuntimeOptions {
  provider: Provider;
  platform: HttpKubeClient;
  /** Undefined: no standard mode. */
  onboarding: HttpKubeClient | undefined;
  redis: RedisSettings;
  /** The provider's own namespace on the platform cluster. */
  providerNamespace: string;
  /** What this process does; default: everything. */
  bridge?: boolean;
  functions?: readonly FunctionName[];
  concurrency?: number;
  runLimitMs?: number;
  leaseMs?: number;
  jobLockMs?: number;
  stalledCheckMs?: number;
  kcpExternalUrl?: string | undefined;
  workspaceTuning?: Partial<WorkspaceTuning> | undefined;
  /** For debugging from outside of the clusters: see `LOCAL_ACCESS`. */
  localAccess?: boolean;
  bridgeTuning?: Partial<BridgeTuning>;
  /** Several replicas of the bridge choose one of them for each mode. */
  leaderElection?: LeaderElection | undefined;
  onStep?: (step: DeliveredStep) => void;
  log: Logger;
}

/** What a process can tell of itself at the moment, for metrics. */
export interface RuntimeStats {
  /** Undefined while Redis is away. */
  queue:
    | {
        jobs: Awaited<ReturnType<BullPublisher['depths']>>;
        objects: Awaited<ReturnType<DeliveryState['sizes']>>;
      }
    | undefined;
  /** Undefined in a process without one. */
  bridge: BridgeStats | undefined;
}

export interface RunningRuntime {
  /** Why the process isn't ready; empty when it is. */
  ready(): string[];
  stats(): Promise<RuntimeStats>;
  /** Takes no more work, lets running invocations end for a while, hands the rest back. */
  stop(): Promise<void>;
}

/** Bridge and functions in one process, or any part of them. */
export async function startRuntime(options: RuntimeOptions): Promise<RunningRuntime> {
  const { provider, platform, onboarding, log } = options;
  const quiet = (error: Error) => log.debug({ err: { message: messageOf(error) } }, 'redis');
  const redis = openRedis(senderConnection(options.redis), quiet);
  let eviction: string | undefined;
  // Asked on every connection: after a failover it is another server.
  redis.on('ready', () => {
    void evictionProblem(redis).then((problem) => {
      eviction = problem;
      if (problem) log.error(problem);
    });
  });
  const keys = queueKeys(provider.name);
  const state = new DeliveryState(redis, keys);
  const publisher = new BullPublisher(redis, keys, quiet);

  const runtime = new FunctionRuntime({
    provider,
    platform,
    onboarding,
    providerNamespace: options.providerNamespace,
    runLimitMs: options.runLimitMs ?? RUN_LIMIT_MS,
    kcpExternalUrl: options.kcpExternalUrl,
    workspaceTuning: options.workspaceTuning,
    localAccess: options.localAccess ?? false,
    log,
  });
  const leaseMs = options.leaseMs ?? LEASE_MS;
  const times = {
    leaseMs,
    renewalMs: Math.min(LEASE_RENEWAL_MS, leaseMs / 4),
    marginMs: Math.min(LEASE_MARGIN_MS, leaseMs / 4),
  };
  const workers = (options.functions ?? FUNCTION_NAMES).map((functionName) =>
    startWorker({
      provider: provider.name,
      functionName,
      state,
      publisher,
      times,
      keys,
      log,
      connection: workerConnection(options.redis),
      concurrency: options.concurrency ?? DEFAULT_CONCURRENCY,
      invoke: (event, lease) => runtime.invoke(functionName, event, lease),
      ...(options.jobLockMs === undefined ? {} : { jobLockMs: options.jobLockMs }),
      ...(options.stalledCheckMs === undefined ? {} : { stalledCheckMs: options.stalledCheckMs }),
      ...(options.onStep ? { onStep: options.onStep } : {}),
    }),
  );
  const bridge =
    (options.bridge ?? true)
      ? await startBridge({
          provider,
          platform,
          onboarding,
          providerNamespace: options.providerNamespace,
          redis,
          publisher,
          state,
          leaderElection: options.leaderElection,
          log,
          tuning: { longestLeaseMs: leaseMs, ...options.bridgeTuning },
        })
      : undefined;
  return {
    ready: () => [
      ...(redis.status === 'ready' ? [] : ['Redis is not connected']),
      ...(eviction ? [eviction] : []),
      ...(bridge?.ready() ?? []),
    ],
    stats: async () => {
      const queue = Promise.all([publisher.depths(), state.sizes()]).then(
        ([jobs, objects]) => ({ jobs, objects }),
        () => undefined,
      );
      return { queue: await queue, bridge: bridge?.stats() };
    },
    stop: () => stop(bridge, workers, runtime, publisher, redis),
  };
}

/** Sources before sinks: nothing new comes in while the last steps send their events. */
async function stop(
  bridge: Bridge | undefined,
  workers: RunningWorker[],
  runtime: FunctionRuntime,
  publisher: BullPublisher,
  redis: Redis,
): Promise<void> {
  await bridge?.stop();
  const patience = setTimeout(() => runtime.shutdown(), SHUTDOWN_PATIENCE_MS);
  // With Redis away nothing can be handed back: it is found again by whoever comes next.
  const limit = setTimeout(() => {
    for (const worker of workers) void worker.close(true);
  }, SHUTDOWN_LIMIT_MS);
  await Promise.allSettled(
    workers.map((worker) =>
      Promise.race([worker.close(), sleep(SHUTDOWN_LIMIT_MS + 1_000, undefined, { ref: false })]),
    ),
  );
  clearTimeout(patience);
  clearTimeout(limit);
  if (redis.status === 'ready') await publisher.close().catch(() => undefined);
  redis.disconnect();
}
