import type { Redis, RedisOptions } from 'ioredis';
import { openRedis } from '../../shared/queue/redis.ts';

/** Connects and waits until commands are answered; rejects when the first attempt fails. */
export async function connectRedis(options: RedisOptions, onError: (error: Error) => void): Promise<Redis> {
  const redis = openRedis({ ...options, lazyConnect: true }, onError);
  await redis.connect();
  return redis;
}
