import type { Logger } from 'pino';
import { messageOf, RuntimeError } from '../../shared/errors.ts';
import { Admission } from '../../shared/queue/admission.ts';
import { DeliveryState } from '../../shared/queue/delivery-state.ts';
import { type QueueKeys, queueKeys } from '../../shared/queue/keys.ts';
import { BullPublisher } from '../../shared/queue/publisher.ts';
import { openRedis, type RedisClient, type RedisSettings, senderConnection } from '../../shared/queue/redis.ts';
import { opennessProblem } from '../../shared/queue/redis-settings.ts';

export interface QueueStats {
  jobs: Awaited<ReturnType<BullPublisher['depths']>>;
  objects: Awaited<ReturnType<DeliveryState['sizes']>>;
}

/** One provider's queues, as one process sends to them. */
export interface Queue {
  readonly keys: QueueKeys;
  readonly redis: RedisClient;
  readonly admission: Admission;
  readonly state: DeliveryState;
  readonly publisher: BullPublisher;
  /** Resolves once Redis may be worked with. @throws RuntimeError `NOT_READY` when that is not so within that time */
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
  const keys = queueKeys(provider);
  const admission = new Admission(redis, keys, log);
  const state = new DeliveryState(redis, keys);
  const onError = (error: Error): void => {
    admission.noticed(error);
    quiet(error);
  };
  const publisher = new BullPublisher(redis, keys, onError, admission);
  const problems = (): string[] => {
    if (!state.link.connected) return ['Redis is not connected', ...admission.problems];
    const { admitted, problems: refused, silent } = admission;
    if (silent !== undefined) return [`Redis: ${silent}`, ...refused];
    return admitted || refused.length > 0 ? [...refused] : ['Redis is not looked at yet'];
  };
  return {
    keys,
    redis,
    admission,
    state,
    publisher,
    async ready(timeoutMs) {
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      const unfollow = admission.follow((admitted) => admitted && resolve());
      const timer = setTimeout(
        () => reject(new RuntimeError('NOT_READY', `not within ${timeoutMs / 1_000} s: ${problems().join('; ')}`)),
        timeoutMs,
      );
      await promise.finally(() => {
        unfollow();
        clearTimeout(timer);
      });
    },
    problems,
    stats: () =>
      Promise.all([publisher.depths(), state.sizes()]).then(
        ([jobs, objects]) => ({ jobs, objects }),
        () => undefined,
      ),
    async close() {
      admission.close();
      if (state.link.connected) await publisher.close().catch(() => undefined);
      redis.disconnect();
    },
  };
}
