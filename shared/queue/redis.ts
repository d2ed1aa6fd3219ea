import type { ConnectionOptions } from 'bullmq';
import { Cluster, Redis, type RedisOptions } from 'ioredis';
import { RECONNECT_LIMIT_MS, SENDER_REDIRECTIONS, SILENCE_LIMIT_MS, TOPOLOGY_CHECK_MS } from '../tuning.ts';
import { type RedisAddress, redisServer, type RedisSettings, type Renewable } from './redis-settings.ts';

export type { RedisSettings } from './redis-settings.ts';

/** A connection to one server (maybe one that Sentinel names), or to all of a Cluster. */
export type RedisClient = Redis | Cluster;

/** ioredis's options, and for a Cluster the nodes that are asked first. */
export interface RedisConnection extends RedisOptions {
  cluster?: RedisAddress[];
}

/** ioredis makes a text of it whenever it logs in, and so meets it as it is then. */
const renewable = (text: Renewable): string =>
  typeof text === 'string' ? text : ({ toString: text } as unknown as string);

const pause = (times: number): number => Math.min(50 * times, RECONNECT_LIMIT_MS);

/** A master that has become a replica: there is another one. Redis 6 says so of a script behind an error of its own. */
function isReplica({ message }: Error): boolean {
  return /^READONLY |-READONLY /.test(message);
}

/** Options for BullMQ workers, which wait as long as it takes. */
export function workerConnection(settings: RedisSettings): RedisConnection {
  const { address, username, password, tls } = redisServer(settings);
  const { sentinel, cluster } = settings;
  return {
    ...address,
    ...(cluster ? { cluster: [...cluster] } : {}),
    ...(sentinel
      ? {
          sentinels: [...sentinel.nodes],
          name: sentinel.master,
          ...(sentinel.password === undefined ? {} : { sentinelPassword: renewable(sentinel.password) }),
          sentinelRetryStrategy: pause,
          // Also where the old master hangs, and its connections with it.
          failoverDetector: true,
          ...(tls ? { enableTLSForSentinelMode: true, sentinelTLS: tls } : {}),
        }
      : {}),
    ...(username === undefined ? {} : { username: renewable(username) }),
    ...(password === undefined ? {} : { password: renewable(password) }),
    ...(tls ? { tls } : {}),
    disableClientInfo: true,
    // It would ask INFO, and write to stderr where that is refused. A server that still loads answers that it does.
    enableReadyCheck: false,
    maxRetriesPerRequest: null,
    retryStrategy: pause,
    socketTimeout: SILENCE_LIMIT_MS,
    reconnectOnError: isReplica,
  };
}

/** Options for senders, which are told at once when Redis is away. */
export function senderConnection(settings: RedisSettings): RedisConnection {
  return {
    ...workerConnection(settings),
    enableOfflineQueue: false,
    maxRetriesPerRequest: 1,
  };
}

/** Begins to connect, and goes on trying for ever: a Redis that is away at the start is waited for like any other time. */
export function openRedis(options: RedisConnection, onError: (error: Error) => void): RedisClient {
  const { cluster, ...one } = options;
  const redis = cluster ? openCluster(cluster, one) : new Redis({ ...one, replyMapping: 'legacy' });
  redis.on('error', onError);
  return redis;
}

function openCluster(nodes: RedisAddress[], options: RedisOptions): Cluster {
  const { enableOfflineQueue = true, lazyConnect = false, retryStrategy: _, reconnectOnError: __, ...each } = options;
  return new Cluster(nodes, {
    enableOfflineQueue,
    lazyConnect,
    // One that fails in a Cluster without a majority would let BullMQ wait for ever for a connection that is there.
    enableReadyCheck: false,
    clusterRetryStrategy: pause,
    // Each waits 100 ms for the cluster to find its way: a sender's caller remembers, a worker has time.
    maxRedirections: enableOfflineQueue ? Number.MAX_SAFE_INTEGER : SENDER_REDIRECTIONS,
    retryDelayOnMoved: 100,
    slotsRefreshInterval: TOPOLOGY_CHECK_MS,
    redisOptions: { ...each, replyMapping: 'legacy' },
    // The names that certificates are made for.
    ...(each.tls ? { dnsLookup: (address, found) => found(null, address) } : {}),
  });
}

/**
 * What BullMQ's workers take: options, of which they make connections of their own. For a Cluster they take one that is
 * open, and leave it to whoever opened it.
 */
export function bullConnection(
  options: RedisConnection,
  onError: (error: Error) => void,
): { connection: ConnectionOptions; close: () => void } {
  if (!options.cluster) return { connection: options as ConnectionOptions, close: () => undefined };
  const cluster = openRedis(options, onError);
  return { connection: cluster, close: () => cluster.disconnect() };
}
