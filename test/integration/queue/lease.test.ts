import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { DeliveryState } from '../../../shared/queue/delivery-state.ts';
import { senderConnection } from '../../../shared/queue/redis.ts';
import { connectRedis } from '../../support/connect-redis.ts';
import { eventually } from '../../support/wait.ts';
import { ignore, keyOf, keys, member, redisHarness, shop } from '../redis-harness.ts';

const harness = redisHarness('queue-test');

describe('the lease on an object', () => {
  const scoreOf = async (set: string, of = member): Promise<number | undefined> => {
    const score = await harness.redis.zscore(set, of);
    return score === null ? undefined : Number(score);
  };
  const held = () => harness.redis.get(keys.lease(member));

  test('is not granted without an epoch: the object is parked, with a new mark for each attempt', async () => {
    const before = Date.now() * 1_000;
    expect(await harness.state.acquire(shop, 'a', 1_000)).toBe(false);
    const first = (await scoreOf(keys.parked)) ?? 0;
    expect(first).toBeGreaterThanOrEqual(before);
    expect(await harness.state.acquire(shop, 'a', 1_000)).toBe(false);
    expect(await scoreOf(keys.parked)).toBeGreaterThan(first);
    expect(await harness.redis.zcard(keys.parked)).toBe(1);
    expect(await held()).toBeNull();
  });

  test('is granted in an epoch, to one holder, for its time', async () => {
    await harness.state.beginEpoch(0);
    expect(await harness.state.acquire(shop, 'a', 5_000)).toBe(true);
    expect(await held()).toBe('a');
    expect(await harness.redis.pttl(keys.lease(member))).toBeGreaterThan(4_000);
    expect(await harness.state.acquire(shop, 'b', 60_000)).toBe(false);
    expect(await held()).toBe('a');
    expect(await harness.redis.pttl(keys.lease(member))).toBeLessThanOrEqual(5_000);
    expect(await harness.redis.zcard(keys.parked)).toBe(1);
    expect(await harness.state.acquire(keyOf('other'), 'b', 5_000)).toBe(true);
  });

  test('is not granted before the longest lease of the epoch before has surely ended', async () => {
    await harness.state.beginEpoch(300);
    expect(await harness.state.acquire(shop, 'a', 1_000)).toBe(false);
    await sleep(200);
    expect(await harness.state.acquire(shop, 'a', 1_000)).toBe(false);
    await sleep(150);
    expect(await harness.state.acquire(shop, 'a', 1_000)).toBe(true);
  });

  test('is not granted by a server that was set back to an older state, though everything looks healthy', async () => {
    const id = await harness.state.beginEpoch(0);
    expect(await harness.state.readEpoch()).toEqual({ id, sameServer: true });
    await harness.server.command('SAVE');
    await harness.server.restartFromDump();
    await eventually('the connection is back', () => harness.redis.status === 'ready');
    expect(await harness.state.readEpoch()).toEqual({ id, sameServer: false });
    expect(await harness.state.acquire(shop, 'a', 1_000)).toBe(false);
    expect(await harness.redis.zcard(keys.parked)).toBe(1);
    await harness.state.beginEpoch(0);
    expect(await harness.state.acquire(shop, 'a', 1_000)).toBe(true);
  });

  test('works where a service hides which server answers; an epoch is needed all the same', async () => {
    await harness.redis.call('ACL', 'SETUSER', 'limited', 'on', '>secret', '~*', '&*', '+@all', '-info');
    const options = senderConnection({ url: harness.server.url, username: 'limited', password: 'secret' });
    // BullMQ and ioredis themselves ask for it at the start.
    const limited = await connectRedis({ ...options, enableReadyCheck: false }, ignore);
    try {
      const hidden = new DeliveryState(limited, keys);
      expect(await hidden.acquire(shop, 'a', 1_000)).toBe(false);
      const id = await hidden.beginEpoch(0);
      expect(await hidden.readEpoch()).toEqual({ id, sameServer: true });
      expect(await hidden.acquire(shop, 'a', 1_000)).toBe(true);
    } finally {
      limited.disconnect();
      await harness.redis.call('ACL', 'DELUSER', 'limited');
    }
  });

  test('is renewed by its holder, who hears each time that somebody came for the object', async () => {
    await harness.state.beginEpoch(0);
    await harness.state.acquire(shop, 'a', 1_000);
    expect(await harness.state.renew(shop, 'a', 9_000)).toBe(0);
    expect(await harness.redis.pttl(keys.lease(member))).toBeGreaterThan(8_000);
    await harness.state.acquire(shop, 'b', 1_000);
    const first = (await harness.state.renew(shop, 'a', 9_000)) ?? 0;
    expect(first).toBeGreaterThan(0);
    expect(await harness.state.renew(shop, 'a', 9_000)).toBe(first);
    await harness.state.acquire(shop, 'c', 1_000);
    expect(await harness.state.renew(shop, 'a', 9_000)).toBeGreaterThan(first);
  });

  test('a stale holder can neither renew nor settle, and changes nothing by trying', async () => {
    await harness.state.beginEpoch(0);
    await harness.state.acquire(shop, 'a', 30);
    await sleep(50);
    expect(await harness.state.acquire(shop, 'b', 5_000)).toBe(true);
    await harness.redis.zadd(keys.timers, 777, member);
    await harness.redis.hset(keys.attempts, member, 3);

    expect(await harness.state.renew(shop, 'a', 60_000)).toBeUndefined();
    expect(await harness.state.settle(shop, 'a', { timer: { afterMs: 1 }, attempts: 'count' })).toBeUndefined();
    expect(await harness.state.settle(shop, 'a', { timer: 'clear', attempts: 'clear' })).toBeUndefined();

    expect(await held()).toBe('b');
    expect(await harness.redis.pttl(keys.lease(member))).toBeLessThanOrEqual(5_000);
    expect(await scoreOf(keys.timers)).toBe(777);
    expect(await harness.state.attempts(shop)).toBe(3);
  });

  test('one that has ended with nobody after it is lost all the same', async () => {
    await harness.state.beginEpoch(0);
    await harness.state.acquire(shop, 'a', 20);
    await sleep(40);
    expect(await harness.state.renew(shop, 'a', 1_000)).toBeUndefined();
    expect(await harness.state.settle(shop, 'a', { timer: { afterMs: 1 }, attempts: 'count' })).toBeUndefined();
    expect(await scoreOf(keys.timers)).toBeUndefined();
  });

  test('settling gives the object back and says that it was parked; the mark stays until it is published', async () => {
    await harness.state.beginEpoch(0);
    await harness.state.acquire(shop, 'a', 1_000);
    await harness.state.acquire(shop, 'b', 1_000);
    const mark = await harness.state.settle(shop, 'a', { timer: 'keep', attempts: 'keep' });
    expect(mark).toBeGreaterThan(0);
    expect(await held()).toBeNull();
    expect(await scoreOf(keys.parked)).toBe(mark);
    expect(await harness.state.acquire(shop, 'c', 1_000)).toBe(true);
    await harness.state.forgetParked({ key: shop, member, score: String(mark) });
    expect(await harness.state.settle(shop, 'c', { timer: 'keep', attempts: 'keep' })).toBe(0);
  });

  test('settling sets, keeps or clears the timer and the count of failures', async () => {
    await harness.state.beginEpoch(0);
    const settle = async (settlement: Parameters<DeliveryState['settle']>[2]): Promise<void> => {
      await harness.state.acquire(shop, 'a', 1_000);
      expect(await harness.state.settle(shop, 'a', settlement)).toBe(0);
    };
    const before = Date.now();
    await settle({ timer: { afterMs: 5_000.4 }, attempts: 'count' });
    const due = await scoreOf(keys.timers);
    expect(due).toBeGreaterThanOrEqual(before + 5_000);
    expect(due).toBeLessThanOrEqual(Date.now() + 5_001);
    await settle({ timer: 'keep', attempts: 'count' });
    expect(await scoreOf(keys.timers)).toBe(due);
    expect(await harness.state.attempts(shop)).toBe(2);
    await settle({ timer: { afterMs: 60_000 }, attempts: 'keep' });
    expect(await scoreOf(keys.timers)).toBeGreaterThan(Date.now() + 50_000);
    expect(await harness.state.attempts(shop)).toBe(2);
    await settle({ timer: 'clear', attempts: 'clear' });
    expect(await scoreOf(keys.timers)).toBeUndefined();
    expect(await harness.state.attempts(shop)).toBe(0);
  });

  test('settling remembers what failed for good, until it does not', async () => {
    await harness.state.beginEpoch(0);
    const settle = async (permanent?: 'keep' | { of: string }): Promise<void> => {
      await harness.state.acquire(shop, 'a', 1_000);
      const more = permanent === undefined ? {} : { permanent };
      await harness.state.settle(shop, 'a', { timer: 'clear', attempts: 'clear', ...more });
    };
    const found = async (limitMs = 60_000) => (await harness.state.permanentFailures(limitMs)).get(member);
    await settle({ of: '3/7' });
    expect(await found()).toMatchObject({ of: '3/7' });
    expect((await found())?.ageMs).toBeLessThan(60_000);
    await settle('keep');
    expect(await found()).toMatchObject({ of: '3/7' });
    await settle();
    expect(await found()).toBeUndefined();

    await settle({ of: '/' });
    expect(await found()).toMatchObject({ of: '/' });
    // Those that are too old, or are nothing of ours, are forgotten.
    await harness.redis.hset(keys.permanent, 'garbage', 'x', 'old', '1 3/7');
    expect([...(await harness.state.permanentFailures(60_000)).keys()]).toEqual([member]);
    expect(await harness.redis.hkeys(keys.permanent)).toEqual([member]);
  });
});
