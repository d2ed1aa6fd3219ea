import { once } from 'node:events';
import type { Logger } from 'pino';
import { messageOf, RuntimeError } from '../../shared/errors.ts';
import { DeliveryState } from '../../shared/queue/delivery-state.ts';
import { type QueueKeys, queueKeys } from '../../shared/queue/keys.ts';
import { BullPublisher } from '../../shared/queue/publisher.ts';
import {
  evictionProblem,
  openRedis,
  type RedisClient,
  type RedisSettings,
  senderConnection,
} from '../../shared/queue/redis.ts';
import { opennessProblem } from '../../shared/queue/redis-settings.ts';

export interface QueueStats {
  jobs: Awaited<ReturnType<BullPublisher['depths']>>;
  objects: Awaited<ReturnType<DeliveryState['sizes']>>;
}

/** One provider's queues, as one process sends to them. */
export interface Queue {
  readonly keys: QueueKeys;
  readonly redis: RedisClient;
  readonly state: DeliveryState;
  readonly publisher: BullPublisher;
  /** Resolves once Redis answers. @throws RuntimeError `NOT_READY` when it does not within that time */
  ready(timeoutMs: number): Promise<void>;
  problems(): string[];
  /** Undefined while Redis is away. */
  stats(): Promise<QueueStats | undefined>;
  close(): Promise<void>;
}

/** Begins to connect, and waits for nothing. */
export function openQueue(settings: RedisSettings, provider: string, log: Logger): Queue {
  const quiet = (error: Error): void => log.debug({ err: { message: messageOf(error) } }, 'redis');
  const open = opennessProblem(settings);
  if (open !== undefined) log.warn(open);
  const redis = openRedis(senderConnection(settings), quiet);
  let eviction: string | undefined;
  // Asked on every connection: after a failover it is another server.
  redis.on('ready', () => {
    void evictionProblem(redis).then((problem) => {
      eviction = problem;
      if (problem) log.error(problem);
    });
  });
  const keys = queueKeys(provider);
  const state = new DeliveryState(redis, keys);
  const publisher = new BullPublisher(redis, keys, quiet);
  return {
    keys,
    redis,
    state,
    publisher,
    async ready(timeoutMs) {
      if (redis.status === 'ready') return;
      await once(redis, 'ready', { signal: AbortSignal.timeout(timeoutMs) }).catch(() => {
        throw new RuntimeError('NOT_READY', `Redis did not answer within ${timeoutMs / 1_000} s`);
      });
    },
    problems: () => [
      ...(redis.status === 'ready' ? [] : ['Redis is not connected']),
      ...(eviction === undefined ? [] : [eviction]),
    ],
    stats: () =>
      Promise.all([publisher.depths(), state.sizes()]).then(
        ([jobs, objects]) => ({ jobs, objects }),
        () => undefined,
      ),
    async close() {
      if (redis.status === 'ready') await publisher.close().catch(() => undefined);
      redis.disconnect();
    },
  };
}
