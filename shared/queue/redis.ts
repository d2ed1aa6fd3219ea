import { Redis, type RedisOptions } from 'ioredis';
import { RuntimeError } from '../errors.ts';
import { RECONNECT_LIMIT_MS, SENDER_SILENCE_LIMIT_MS } from '../tuning.ts';

export interface RedisSettings {
  /** `redis[s]://[user[:password]@]host:port[/db]` */
  url: string;
  username?: string | undefined;
  password?: string | undefined;
  /** PEM, for a server certificate of a private authority. */
  ca?: string | undefined;
}

/** Options for BullMQ workers, which wait as long as it takes. */
export function workerConnection(settings: RedisSettings): RedisOptions {
  const url = parseUrl(settings.url);
  const username = settings.username ?? decodeURIComponent(url.username);
  const password = settings.password ?? decodeURIComponent(url.password);
  return {
    host: url.hostname.replace(/^\[|\]$/g, ''),
    port: Number(url.port || 6379),
    db: Number(url.pathname.slice(1) || 0),
    ...(username ? { username } : {}),
    ...(password ? { password } : {}),
    ...(url.protocol === 'rediss:' ? { tls: settings.ca ? { ca: settings.ca } : {} } : {}),
    maxRetriesPerRequest: null,
    retryStrategy: (times) => Math.min(50 * times, RECONNECT_LIMIT_MS),
  };
}

/** Options for senders, which are told at once when Redis is away. */
export function senderConnection(settings: RedisSettings): RedisOptions {
  return {
    ...workerConnection(settings),
    enableOfflineQueue: false,
    maxRetriesPerRequest: 1,
    socketTimeout: SENDER_SILENCE_LIMIT_MS,
  };
}

function parseUrl(text: string): URL {
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    throw new RuntimeError('INVALID_SETTINGS', 'REDIS_URL: not an address; expected redis://host:6379 or rediss://…');
  }
  if (url.protocol !== 'redis:' && url.protocol !== 'rediss:')
    throw new RuntimeError('INVALID_SETTINGS', `REDIS_URL: ${url.protocol} is not supported; use redis: or rediss:`);
  return url;
}

/** Begins to connect, and goes on trying for ever: a Redis that is away at the start is waited for like any other time. */
export function openRedis(options: RedisOptions, onError: (error: Error) => void): Redis {
  const redis = new Redis({ ...options, replyMapping: 'legacy' });
  redis.on('error', onError);
  return redis;
}

/**
 * A Redis that may drop keys when memory is short would forget work.
 * @returns what is wrong, or `undefined`; services that hide their configuration are taken as they are
 */
export async function evictionProblem(redis: Redis): Promise<string | undefined> {
  let policy: string | undefined;
  try {
    policy = (await redis.config('GET', 'maxmemory-policy'))[1];
  } catch {
    return undefined;
  }
  if (policy === undefined || policy === 'noeviction') return undefined;
  return `Redis has maxmemory-policy ${policy} and may drop work; set it to noeviction`;
}
