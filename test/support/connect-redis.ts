import { openRedis, type RedisClient, type RedisConnection } from '../../shared/queue/redis.ts';

/** Connects and waits until commands are answered; rejects when the first attempt fails. */
export async function connectRedis(options: RedisConnection, onError: (error: Error) => void): Promise<RedisClient> {
  const redis = openRedis({ ...options, lazyConnect: true }, onError);
  await redis.connect();
  return redis;
}
