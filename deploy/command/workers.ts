import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { DeliveredStep, Invoke } from '../../functions/host/deliver.ts';
import type { LeaseTimes } from '../../functions/host/lease.ts';
import { startWorker } from '../../functions/host/worker.ts';
import type { FunctionName } from '../../shared/events/catalogue.ts';
import { type RedisSettings, workerConnection } from '../../shared/queue/redis.ts';
import { LEASE_MARGIN_MS, LEASE_MS, LEASE_RENEWAL_MS } from '../../shared/tuning.ts';
import type { Queue } from './queue.ts';
import { DEFAULT_CONCURRENCY, SHUTDOWN_LIMIT_MS, SHUTDOWN_PATIENCE_MS } from './tuning.ts';

export interface WorkersOptions {
  provider: string;
  functions: readonly FunctionName[];
  redis: RedisSettings;
  concurrency?: number | ((functionName: FunctionName) => number);
  jobLockMs?: number;
  stalledCheckMs?: number;
  onStep?: (step: DeliveredStep) => void;
  log: Logger;
}

export interface Workers {
  /** Takes no more work. What runs may go on for a while, is told to end then, and the rest is handed back. */
  stop(): Promise<void>;
}

/** How a lease of this length is held. */
export function leaseTimes(leaseMs = LEASE_MS): LeaseTimes {
  return {
    leaseMs,
    renewalMs: Math.min(LEASE_RENEWAL_MS, leaseMs / 4),
    marginMs: Math.min(LEASE_MARGIN_MS, leaseMs / 4),
  };
}

/**
 * A worker a function.
 * @param invoke does one invocation of a function
 * @param tellToEnd tells all that runs to end
 */
export function startWorkers(
  queue: Queue,
  times: LeaseTimes,
  options: WorkersOptions,
  invoke: (functionName: FunctionName) => Invoke,
  tellToEnd: () => void,
): Workers {
  const { functions, redis, concurrency = DEFAULT_CONCURRENCY, ...rest } = options;
  const workers = functions.map((functionName) =>
    startWorker({
      ...rest,
      ...queue,
      functionName,
      times,
      connection: workerConnection(redis),
      concurrency: typeof concurrency === 'number' ? concurrency : concurrency(functionName),
      invoke: invoke(functionName),
    }),
  );
  return {
    async stop() {
      const patience = setTimeout(tellToEnd, SHUTDOWN_PATIENCE_MS);
      const limit = sleep(SHUTDOWN_LIMIT_MS, undefined, { ref: false });
      // With Redis away nothing can be handed back: it is found again by whoever comes next.
      await Promise.race([Promise.allSettled(workers.map((worker) => worker.close())), limit]);
      clearTimeout(patience);
    },
  };
}
