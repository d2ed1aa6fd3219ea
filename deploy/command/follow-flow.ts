import { QueueEvents } from 'bullmq';
import type { DeliveredJob } from '../../functions/host/deliver.ts';
import { FUNCTION_NAMES, type FunctionName } from '../../shared/events/catalogue.ts';
import type { Outcome } from '../../shared/events/outcome.ts';
import { formatObjectKey, type ObjectKey } from '../../shared/model/object-key.ts';
import { type QueueKeys, queueName } from '../../shared/queue/keys.ts';
import { bullConnection, type RedisSettings, workerConnection } from '../../shared/queue/redis.ts';

/** One step of an object's flow, as its function told the queue. */
export interface FlowStep {
  functionName: FunctionName;
  job: DeliveredJob;
}

export interface FollowedFlow {
  /** Begins to listen; to be waited for before anything is sent. */
  listen(): Promise<void>;
  /** Resolves with the outcome that ends the flow; rejects when nothing came for that long. */
  end(timeoutMs: number): Promise<Outcome>;
  close(): Promise<void>;
}

/** Pure: whether nothing follows by itself, at once. */
export function endsFlow({ end, outcome }: DeliveredJob): boolean {
  return end === 'done' && outcome !== undefined && (outcome.kind !== 'done' || outcome.next.length === 0);
}

/** Follows the flow of one object by what functions tell their queues when they are through with a job. */
export function followFlow(
  settings: RedisSettings,
  keys: QueueKeys,
  key: ObjectKey,
  onStep: (step: FlowStep) => void,
): FollowedFlow {
  const object = formatObjectKey(key);
  const { connection, close } = bullConnection(workerConnection(settings), () => undefined);
  let ended: (outcome: Outcome) => void = () => undefined;
  const outcome = new Promise<Outcome>((resolve) => (ended = resolve));
  const queues = FUNCTION_NAMES.map((functionName) => {
    const events = new QueueEvents(queueName(functionName), {
      connection,
      prefix: keys.prefix,
      autorun: true,
      skipVersionCheck: true,
    });
    events.on('error', () => undefined);
    events.on('completed', ({ returnvalue }) => {
      const job = returnvalue as unknown as DeliveredJob | null | undefined;
      if (job?.object !== object) return;
      onStep({ functionName, job });
      if (endsFlow(job)) ended(job.outcome as Outcome);
    });
    return events;
  });
  return {
    listen: async () => void (await Promise.all(queues.map((events) => events.waitUntilReady()))),
    async end(timeoutMs) {
      let timer: NodeJS.Timeout | undefined;
      const late = new Promise<never>((_resolve, reject) => {
        timer = setTimeout(
          () => reject(new Error(`nothing has ended the flow within ${timeoutMs / 1_000} s`)),
          timeoutMs,
        );
      });
      return Promise.race([outcome, late]).finally(() => clearTimeout(timer));
    },
    close: async () => void (await Promise.all(queues.map((events) => events.close())).finally(close)),
  };
}
