import { type Job, Queue } from 'bullmq';
import { FUNCTION_NAMES, type FunctionName, RECEIVER } from '../events/catalogue.ts';
import { type ServiceEvent, toCloudEvent } from '../events/service-event.ts';
import { RuntimeError } from '../errors.ts';
import { BACKGROUND_PRIORITY, USER_PRIORITY, EVENT_STREAM_LENGTH } from '../tuning.ts';
import type { Admission } from './admission.ts';
import { type QueueKeys, queueName, workId } from './keys.ts';
import type { RedisClient } from './redis.ts';

export type Priority = 'user' | 'background';

/** Sends events to the functions' queues. Rejects at once while Redis is away or refused: the caller remembers what to send. */
export interface Publisher {
  publish(event: ServiceEvent, priority: Priority): Promise<void>;
  close(): Promise<void>;
}

/** An interrupted or failed job is tried at once and for ever; handlers' own errors never fail a job. */
const JOB_OPTIONS = { attempts: Number.MAX_SAFE_INTEGER, removeOnComplete: true, removeOnFail: true } as const;

/**
 * At most one waiting and one active job per object and queue: BullMQ's deduplication with `keepLastIfActive`. No job
 * is ever delayed (a delayed job would swallow later changes); timers are kept apart.
 */
export class BullPublisher implements Publisher {
  readonly #queues: ReadonlyMap<FunctionName, Queue>;
  readonly #redis: RedisClient;
  readonly #keys: QueueKeys;
  readonly #admission: Pick<Admission, 'admitted' | 'problems' | 'noticed'> | undefined;

  /**
   * @param redis a sender's connection (see `senderConnection`); stays the caller's to close
   * @param admission without one, Redis is taken as it is
   */
  constructor(
    redis: RedisClient,
    keys: QueueKeys,
    onError: (error: Error) => void,
    admission?: Pick<Admission, 'admitted' | 'problems' | 'noticed'>,
  ) {
    this.#redis = redis;
    this.#keys = keys;
    this.#admission = admission;
    this.#queues = new Map(
      FUNCTION_NAMES.map((name) => {
        const queue = new Queue(queueName(name), {
          connection: redis,
          prefix: keys.prefix,
          skipVersionCheck: true,
          defaultJobOptions: JOB_OPTIONS,
          streams: { events: { maxLen: EVENT_STREAM_LENGTH } },
        });
        queue.on('error', onError);
        return [name, queue];
      }),
    );
  }

  async publish(event: ServiceEvent, priority: Priority): Promise<void> {
    if (this.#admission?.admitted === false)
      throw new RuntimeError('NOT_READY', this.#admission.problems[0] ?? 'Redis was not looked at yet');
    try {
      await this.#publish(event, priority);
    } catch (error) {
      this.#admission?.noticed(error);
      throw error;
    }
  }

  async #publish(event: ServiceEvent, priority: Priority): Promise<void> {
    const queue = this.#queues.get(RECEIVER[event.type]) as Queue;
    const id = workId(event.key);
    // A background add would overwrite, and demote, a next run that is stored already.
    if (priority === 'background' && (await this.#nextRunStored(queue.name, id))) return;
    const job: Job = await queue.add(event.type, toCloudEvent(event).toJSON(), {
      jobId: event.id,
      deduplication: { id, keepLastIfActive: true },
      priority: priority === 'user' ? USER_PRIORITY : BACKGROUND_PRIORITY,
    });
    // Deduplicated: the id is that of the job which waits already, maybe behind the background work.
    if (priority === 'user' && job.id !== event.id && job.id !== undefined) await this.#raise(queue, job.id);
  }

  /** How many jobs wait (behind users' changes, too) or run, for metrics. */
  async depths(): Promise<{ functionName: FunctionName; waiting: number; active: number }[]> {
    return Promise.all(
      [...this.#queues].map(async ([functionName, queue]) => {
        const counts = await queue.getJobCounts('waiting', 'prioritized', 'active');
        const { waiting = 0, prioritized = 0, active = 0 } = counts;
        return { functionName, waiting: waiting + prioritized, active };
      }),
    );
  }

  async close(): Promise<void> {
    await Promise.all([...this.#queues.values()].map((queue) => queue.close()));
  }

  async #nextRunStored(queue: string, id: string): Promise<boolean> {
    return (await this.#redis.exists(`${this.#keys.prefix}:${queue}:dn:${id}`)) === 1;
  }

  async #raise(queue: Queue, jobId: string): Promise<void> {
    const waitsBehind = await this.#redis.zscore(`${this.#keys.prefix}:${queue.name}:prioritized`, jobId);
    // One that is at user priority already would be sent to the back.
    if (waitsBehind === null) return;
    const job = await queue.getJob(jobId);
    await job?.changePriority({ priority: USER_PRIORITY }).catch(() => undefined); // started meanwhile
  }
}
