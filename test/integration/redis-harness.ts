import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest';
import { formatObjectKey, type ObjectKey } from '../../shared/model/object-key.ts';
import { DeliveryState } from '../../shared/queue/delivery-state.ts';
import { queueKeys } from '../../shared/queue/keys.ts';
import { type RedisClient, senderConnection } from '../../shared/queue/redis.ts';
import { connectRedis } from '../support/connect-redis.ts';
import { type StartedRedis, startRedis } from '../control-planes/redis.ts';
import { createRunFolder } from '../support/run-folder.ts';

export const PROVIDER = 'db';
export const keys = queueKeys(PROVIDER);

export const keyOf = (name: string, more: Partial<ObjectKey> = {}): ObjectKey => ({
  provider: PROVIDER,
  mode: 'standard',
  cluster: 'onboarding',
  namespace: 'project-a',
  name,
  uid: `uid-${name}`,
  ...more,
});

/** The object that most tests are about, and how Redis knows it. */
export const shop = keyOf('shop');
export const member = formatObjectKey(shop);

export const ignore = (): void => undefined;

/** As an outcome does. */
export async function setTimer(redis: RedisClient, key: ObjectKey, afterMs: number): Promise<void> {
  await redis.zadd(queueKeys(key.provider).timers, Date.now() + afterMs, formatObjectKey(key));
}

export interface RedisHarness {
  /** One for all tests of the file. */
  readonly server: StartedRedis;
  /** A connection of this test alone, to an empty server. */
  readonly redis: RedisClient;
  readonly state: DeliveryState;
}

/** A Redis server of this file's own. */
export function redisHarness(name: string): RedisHarness {
  const folder = createRunFolder(name);
  let server: StartedRedis;
  let redis: RedisClient;
  let state: DeliveryState;
  beforeAll(async () => {
    server = await startRedis({ dir: folder.path });
  });
  afterAll(async () => {
    await server.stop();
    folder.remove();
  });
  beforeEach(async () => {
    redis = await connectRedis(senderConnection({ url: server.url }), ignore);
    await redis.flushall();
    state = new DeliveryState(redis, keys);
  });
  afterEach(() => redis.disconnect());
  return {
    get server() {
      return server;
    },
    get redis() {
      return redis;
    },
    get state() {
      return state;
    },
  };
}
