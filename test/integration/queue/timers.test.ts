import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { formatObjectKey } from '../../../shared/model/object-key.ts';
import { keyOf, keys, member, redisHarness, shop } from '../redis-harness.ts';

const harness = redisHarness('queue-test');

describe('timers and marks', () => {
  test('those are due whose time has come, the oldest first, as many as asked for', async () => {
    const now = Date.now();
    await harness.redis.zadd(keys.timers, now - 1, formatObjectKey(keyOf('b')), now - 2, formatObjectKey(keyOf('a')));
    await harness.redis.zadd(keys.timers, now + 5_000, formatObjectKey(keyOf('later')));
    expect((await harness.state.dueTimers(10)).map(({ key }) => key?.name)).toEqual(['a', 'b']);
    expect((await harness.state.dueTimers(1)).map(({ key }) => key?.name)).toEqual(['a']);
  });

  test('what is no object key can be forgotten, and holds up nothing', async () => {
    await harness.redis.zadd(keys.timers, 1, 'garbage');
    const [due] = await harness.state.dueTimers(10);
    expect(due).toEqual({ key: undefined, member: 'garbage', score: '1' });
    if (due) await harness.state.forgetTimer(due);
    expect(await harness.redis.zcard(keys.timers)).toBe(0);
  });

  test('a timer that was set anew, or a mark that was made again, outlives the one that was seen', async () => {
    await harness.redis.zadd(keys.timers, 1, member);
    const [timer] = await harness.state.dueTimers(10);
    await harness.redis.zadd(keys.timers, Date.now() + 9_000, member);
    if (timer) await harness.state.forgetTimer(timer);
    expect(await harness.redis.zcard(keys.timers)).toBe(1);

    await harness.state.acquire(shop, 'a', 1_000);
    const [mark] = await harness.state.releasedParked(10);
    await harness.state.acquire(shop, 'a', 1_000);
    if (mark) await harness.state.forgetParked(mark);
    const [again] = await harness.state.releasedParked(10);
    expect(Number(again?.score)).toBeGreaterThan(Number(mark?.score));
    if (again) await harness.state.forgetParked(again);
    expect(await harness.redis.zcard(keys.parked)).toBe(0);
  });

  test('who is late to forget a mark never takes one of a later round for it', async () => {
    await harness.state.acquire(shop, 'a', 1_000);
    const [first] = await harness.state.releasedParked(10);
    if (first) await harness.state.forgetParked(first);
    await harness.state.acquire(shop, 'a', 1_000);
    if (first) await harness.state.forgetParked(first);
    expect(await harness.redis.zcard(keys.parked)).toBe(1);
  });

  test('a due time with many digits is forgotten by exactly that time', async () => {
    await harness.redis.zadd(keys.timers, 1_695_989_123_457, member);
    const [due] = await harness.state.dueTimers(1);
    expect(due?.score).toBe('1695989123457');
    if (due) await harness.state.forgetTimer(due);
    expect(await harness.redis.zcard(keys.timers)).toBe(0);
  });

  describe('an object that is handed back', () => {
    test('gets a timer, and none that is earlier is put off by it', async () => {
      for (const afterMs of [60_000, 10, 60_000]) expect(await harness.state.handBack(shop, afterMs)).toBe(true);
      await sleep(15);
      expect(await harness.state.dueTimers(10)).toHaveLength(1);
    });

    test('and that somebody holds is parked, since the holder may clear the timer', async () => {
      await harness.state.beginEpoch(0);
      await harness.state.acquire(shop, 'a', 5_000);
      expect(await harness.state.handBack(shop, 10)).toBe(true);
      expect(await harness.state.settle(shop, 'a', { timer: 'clear', attempts: 'clear' })).toBeGreaterThan(0);
    });

    test.each([
      ['handed back', () => harness.state.handBack(shop, 60_000)],
      ['put off', () => harness.state.lookAgain(shop, 60_000)],
    ])('and whose timer is just being published keeps one when it is %s', async (_how, act) => {
      for (const inMs of [-5, 30_000]) {
        await harness.redis.zadd(keys.timers, Date.now() + inMs, member);
        // A publisher of an earlier version goes by its own clock, which may be ahead.
        const score = (await harness.redis.zscore(keys.timers, member)) ?? '';
        await act();
        await harness.state.forgetTimer({ key: shop, member, score });
        expect(await harness.redis.zcard(keys.timers)).toBe(1);
      }
    });

    test('and that somebody holds is parked when there is no place for it here', async () => {
      await harness.state.beginEpoch(0);
      await harness.state.acquire(shop, 'a', 5_000);
      await harness.state.lookAgain(shop, 10);
      expect(await harness.redis.zcard(keys.timers)).toBe(0);
      expect(await harness.state.settle(shop, 'a', { timer: 'clear', attempts: 'clear' })).toBeGreaterThan(0);
    });

    test('again and again is said to be known to nobody, and from then on every other time', async () => {
      const answers: boolean[] = [];
      for (let count = 0; count < 8; count += 1) answers.push(await harness.state.handBack(shop, 10));
      expect(answers).toEqual([true, true, true, false, true, false, true, false]);
    });

    test('is remembered for a while only', async () => {
      for (let count = 0; count < 3; count += 1) await harness.state.handBack(shop, 10);
      await sleep(70);
      expect(await harness.state.handBack(shop, 10)).toBe(true);
    });
  });

  test('parked objects that somebody holds are left for later', async () => {
    await harness.state.beginEpoch(0);
    await harness.state.acquire(shop, 'a', 5_000);
    await harness.state.acquire(shop, 'b', 5_000);
    await harness.redis.zadd(keys.parked, 1, formatObjectKey(keyOf('free')));
    expect((await harness.state.releasedParked(10)).map(({ key }) => key?.name)).toEqual(['free']);
    await harness.state.settle(shop, 'a', { timer: 'keep', attempts: 'keep' });
    expect((await harness.state.releasedParked(10)).map(({ key }) => key?.name)).toEqual(['free', 'shop']);
  });
});

describe.each([
  ['five minutes fast', 300_000],
  ['an hour slow', -3_600_000],
])("a process whose clock is %s: timers go by Redis' clock alone", (_how, offMs) => {
  afterEach(() => void vi.restoreAllMocks());

  const ofRedis = async (): Promise<number> => Number((await harness.redis.time())[0]) * 1_000;
  const score = async (): Promise<number> => Number(await harness.redis.zscore(keys.timers, member));
  const clockIsOff = (): void => {
    const right = Date.now.bind(Date);
    vi.spyOn(Date, 'now').mockImplementation(() => right() + offMs);
  };

  test.each([
    [
      'one that an outcome sets',
      async () => {
        await harness.state.beginEpoch(0);
        await harness.state.acquire(shop, 'a', 5_000);
        await harness.state.settle(shop, 'a', { timer: { afterMs: 60_000 }, attempts: 'clear' });
      },
    ],
    ['one of an object that is handed back', () => harness.state.handBack(shop, 60_000)],
    ['one of an object that is put off', () => harness.state.lookAgain(shop, 60_000)],
  ])('%s', async (_what, act) => {
    clockIsOff();
    const before = await ofRedis();
    await act();
    expect(await score()).toBeGreaterThanOrEqual(before + 60_000);
    expect(await score()).toBeLessThanOrEqual((await ofRedis()) + 61_000);
  });

  test('what is due is found, and nothing else', async () => {
    const now = await ofRedis();
    await harness.redis.zadd(keys.timers, now - 1, member, now + 30_000, formatObjectKey(keyOf('later')));
    clockIsOff();
    expect((await harness.state.dueTimers(10)).map(({ key }) => key?.name)).toEqual(['shop']);
  });

  test('one that comes earlier is not put off', async () => {
    const now = await ofRedis();
    await harness.redis.zadd(keys.timers, now + 30_000, member);
    clockIsOff();
    await harness.state.lookAgain(shop, 60_000);
    expect(await score()).toBeLessThan(now + 31_000);
  });
});
