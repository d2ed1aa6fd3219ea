import { Cluster, Command } from 'ioredis';
import type { QueueKeys } from './keys.ts';
import type { RedisClient } from './redis.ts';

/** The way to the server that holds a provider's keys. */
export interface RedisLink {
  /** Whether it may answer. A node of a Cluster is only connected to when something is asked. */
  readonly connected: boolean;
  /**
   * @param up it may answer, and may be another server than before
   * @param down it does not any more
   * @returns ends it
   */
  follow(up: () => void, down: () => void): () => void;
}

/** A Cluster stays connected as a whole while the one node that matters is away: so that one is looked at. */
export function linkOf(redis: RedisClient, keys: QueueKeys): RedisLink {
  const slot = redis instanceof Cluster ? new Command('get', [keys.epoch]).getSlot() : 0;
  const [ups, downs] =
    redis instanceof Cluster
      ? [
          ['ready', '+node'],
          ['close', '-node'],
        ]
      : [['ready'], ['close']];
  return {
    get connected() {
      return redis.status === 'ready' && (!(redis instanceof Cluster) || hasNode(redis, slot));
    },
    follow(up, down) {
      for (const name of ups) redis.on(name, up);
      for (const name of downs) redis.on(name, down);
      return () => {
        for (const name of ups) redis.off(name, up);
        for (const name of downs) redis.off(name, down);
      };
    },
  };
}

/** One that has gone is not among the nodes any more. */
function hasNode(cluster: Cluster, slot: number): boolean {
  const [master] = cluster.slots[slot] ?? [];
  return cluster.nodes('master').some(({ options }) => `${options.host}:${options.port}` === master);
}
