import type { Logger } from 'pino';
import type { LeaderElection } from '../../bridge/lead/leader.ts';
import type { BridgeStats } from '../../bridge/part.ts';
import type { BridgeTuning } from '../../bridge/tuning.ts';
import type { DeliveredStep } from '../../functions/host/deliver.ts';
import { FUNCTION_NAMES, type FunctionName } from '../../shared/events/catalogue.ts';
import type { ServiceEvent } from '../../shared/events/service-event.ts';
import type { WorkspaceTuning } from '../../shared/kcp/workspace-port.ts';
import type { ExternalKcp } from '../../shared/kcp/workspaces.ts';
import type { HttpKubeClient } from '../../shared/kube/client.ts';
import type { Provider } from '../../shared/provider/provider.ts';
import type { RedisSettings } from '../../shared/queue/redis.ts';
import { RUN_LIMIT_MS } from '../../shared/tuning.ts';
import { openQueue, type QueueStats } from './queue.ts';
import { leaseTimes, startWorkers } from './workers.ts';

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
  /** Objects that a function works on at once. */
  concurrency?: number | ((functionName: FunctionName) => number);
  runLimitMs?: number;
  leaseMs?: number;
  /** The longest lease of any process of this provider, where that is not `leaseMs`; see `dispatcherTimes`. */
  longestLeaseMs?: number;
  jobLockMs?: number;
  stalledCheckMs?: number;
  kcpExternal?: ExternalKcp | undefined;
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
  queue: QueueStats | undefined;
  /** Undefined in a process without one. */
  bridge: BridgeStats | undefined;
}

export interface RunningRuntime {
  /** Why the process isn't ready; empty when it is. */
  ready(): string[];
  stats(): Promise<RuntimeStats>;
  /** Puts an event on the queue, before background work. */
  publish(event: ServiceEvent): Promise<void>;
  /** Takes no more work, lets running invocations end for a while, hands the rest back. */
  stop(): Promise<void>;
}

/** Bridge and functions in one process, or any part of them. Loads only what that part needs. */
export async function startRuntime(options: RuntimeOptions): Promise<RunningRuntime> {
  const { provider, platform, onboarding, providerNamespace, functions = FUNCTION_NAMES, log } = options;
  const queue = openQueue(options.redis, provider.name, log);
  const times = leaseTimes(options.leaseMs);
  const workers = functions.length > 0 ? await startFunctions() : undefined;
  const bridge = (options.bridge ?? true) ? await startTheBridge() : undefined;

  async function startFunctions() {
    const { FunctionRuntime } = await import('../../functions/runtime.ts');
    const runtime = new FunctionRuntime({
      provider,
      platform,
      onboarding,
      providerNamespace,
      runLimitMs: options.runLimitMs ?? RUN_LIMIT_MS,
      kcpExternal: options.kcpExternal,
      workspaceTuning: options.workspaceTuning,
      localAccess: options.localAccess ?? false,
      log,
    });
    return startWorkers(
      queue,
      times,
      { ...options, provider: provider.name, functions },
      (functionName) => (event, hold) => runtime.invoke(functionName, event, hold),
      () => runtime.shutdown(),
    );
  }

  async function startTheBridge() {
    const { startBridge } = await import('../../bridge/bridge.ts');
    const longestLeaseMs = options.longestLeaseMs ?? times.leaseMs;
    return startBridge({ ...options, ...queue, tuning: { longestLeaseMs, ...options.bridgeTuning } });
  }

  return {
    ready: () => [...queue.problems(), ...(bridge?.ready() ?? [])],
    stats: async () => ({ queue: await queue.stats(), bridge: bridge?.stats() }),
    publish: (event) => queue.publisher.publish(event, 'user'),
    // At once: invocations get all the time that there is, also while an API server keeps the bridge waiting.
    async stop() {
      await Promise.all([bridge?.stop(), workers?.stop()]);
      await queue.close();
    },
  };
}
