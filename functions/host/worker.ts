import { type Job, Worker } from 'bullmq';
import { messageOf, RuntimeError } from '../../shared/errors.ts';
import type { Admission } from '../../shared/queue/admission.ts';
import { type QueueKeys, queueName } from '../../shared/queue/keys.ts';
import { bullConnection, type RedisConnection } from '../../shared/queue/redis.ts';
import {
  JOB_LOCK_MS,
  MAX_STALLED_COUNT,
  RECONNECT_LIMIT_MS,
  STALLED_CHECK_MS,
  USER_PRIORITY,
} from '../../shared/tuning.ts';
import { deliver, type DeliveryPorts } from './deliver.ts';
import { TenantBound } from './tenant-bound.ts';

export interface WorkerOptions extends DeliveryPorts {
  connection: RedisConnection;
  keys: QueueKeys;
  /** Jobs are taken while it says so; without one, always. */
  admission?: Pick<Admission, 'admitted' | 'follow' | 'noticed'> | undefined;
  concurrency: number;
  /** How long a job stays with a worker that is gone. */
  jobLockMs?: number;
  stalledCheckMs?: number;
}

export interface RunningWorker {
  /** Takes no more jobs, and waits for those that run. */
  close(): Promise<void>;
}

/** One function as a BullMQ worker: the delivery loop with the handler in its own process. Waits for Redis by itself. */
export function startWorker(options: WorkerOptions): RunningWorker {
  const { functionName, keys, admission, concurrency, log } = options;
  const onError = (error: Error): void => {
    admission?.noticed(error);
    log.debug({ err: { message: messageOf(error) } }, 'queue');
  };
  const ports = { ...options, bound: new TenantBound(concurrency) };
  const { connection, close } = bullConnection(options.connection, onError);
  const worker = new Worker(
    queueName(functionName),
    // The job's own priority: data and options keep the one that it was added with.
    (job: Job) => {
      // Taken by a worker that waited for one already when it was told to stop: handed back.
      if (admission?.admitted === false) throw new RuntimeError('NOT_READY', 'Redis is refused at the moment');
      return deliver(job.data, job.priority === USER_PRIORITY ? 'user' : 'background', ports);
    },
    {
      connection,
      prefix: keys.prefix,
      // We look ourselves, and a user without the right to INFO works too. No job is ever delayed.
      skipVersionCheck: true,
      autorun: false,
      runRetryDelay: RECONNECT_LIMIT_MS,
      concurrency,
      lockDuration: options.jobLockMs ?? JOB_LOCK_MS,
      stalledInterval: options.stalledCheckMs ?? STALLED_CHECK_MS,
      maxStalledCount: MAX_STALLED_COUNT,
      removeOnComplete: { count: 0 },
      removeOnFail: { count: 0 },
    },
  );
  worker.on('error', onError);
  worker.on('failed', (_job, error) => {
    admission?.noticed(error);
    log.warn({ err: { message: messageOf(error) } }, 'job handed back');
  });
  let started = false;
  const follow = (admitted: boolean): void => {
    if (!admitted) {
      if (started) void worker.pause(true).catch(onError);
    } else if (started) void worker.resume().catch(onError);
    else {
      started = true;
      void worker.run().catch(onError);
    }
  };
  const unfollow = admission ? admission.follow(follow) : follow(true);
  return {
    close: () => {
      unfollow?.();
      return worker.close().finally(close);
    },
  };
}
