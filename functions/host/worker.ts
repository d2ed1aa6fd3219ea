import { type Job, Worker } from 'bullmq';
import { messageOf } from '../../shared/errors.ts';
import { type QueueKeys, queueName } from '../../shared/queue/keys.ts';
import { bullConnection, type RedisConnection } from '../../shared/queue/redis.ts';
import { JOB_LOCK_MS, MAX_STALLED_COUNT, STALLED_CHECK_MS, USER_PRIORITY } from '../../shared/tuning.ts';
import { deliver, type DeliveryPorts } from './deliver.ts';

export interface WorkerOptions extends DeliveryPorts {
  connection: RedisConnection;
  keys: QueueKeys;
  concurrency: number;
  /** How long a job stays with a worker that is gone. */
  jobLockMs?: number;
  stalledCheckMs?: number;
}

export interface RunningWorker {
  /** Takes no more jobs, and waits for those that run, unless forced: then they are run again elsewhere. */
  close(force?: boolean): Promise<void>;
}

/** One function as a BullMQ worker: the delivery loop with the handler in its own process. Waits for Redis by itself. */
export function startWorker(options: WorkerOptions): RunningWorker {
  const { functionName, keys, concurrency, log } = options;
  const onError = (error: Error): void => log.debug({ err: { message: messageOf(error) } }, 'queue');
  const { connection, close } = bullConnection(options.connection, onError);
  const worker = new Worker(
    queueName(functionName),
    // The job's own priority: data and options keep the one that it was added with.
    (job: Job) => deliver(job.data, job.priority === USER_PRIORITY ? 'user' : 'background', options),
    {
      connection,
      prefix: keys.prefix,
      concurrency,
      lockDuration: options.jobLockMs ?? JOB_LOCK_MS,
      stalledInterval: options.stalledCheckMs ?? STALLED_CHECK_MS,
      maxStalledCount: MAX_STALLED_COUNT,
      removeOnComplete: { count: 0 },
      removeOnFail: { count: 0 },
    },
  );
  worker.on('error', onError);
  worker.on('failed', (_job, error) => log.warn({ err: { message: messageOf(error) } }, 'job handed back'));
  return { close: (force) => worker.close(force).finally(close) };
}
