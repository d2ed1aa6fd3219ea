import { setTimeout as sleep } from 'node:timers/promises';
import { type ConnectionOptions, type Job, Queue, Worker } from 'bullmq';
import type { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import {
  type EventType,
  FUNCTION_NAMES,
  type FunctionName,
  INSTALL_REQUESTED,
  OBJECT_CHANGED,
  RECEIVER,
} from '../../shared/events/catalogue.ts';
import { parseServiceEvent, type ServiceEvent, serviceEvent } from '../../shared/events/service-event.ts';
import { formatObjectKey, type ObjectKey } from '../../shared/model/object-key.ts';
import { DeliveryState } from '../../shared/queue/delivery-state.ts';
import { queueKeys, queueName } from '../../shared/queue/keys.ts';
import { BullPublisher } from '../../shared/queue/publisher.ts';
import { connectRedis, senderConnection, workerConnection } from '../../shared/queue/redis.ts';
import { BACKGROUND_PRIORITY, USER_PRIORITY } from '../../shared/tuning.ts';
import { type StartedRedis, startRedis } from '../control-planes/redis.ts';
import { createRunFolder } from '../support/run-folder.ts';
import { eventually } from '../support/wait.ts';

const folder = createRunFolder('queue-test');
const ignore = (): void => undefined;
const keys = queueKeys('db');
const keyOf = (name: string, provider = 'db'): ObjectKey => ({
  provider,
  mode: 'standard',
  cluster: 'onboarding',
  namespace: 'project-a',
  name,
  uid: `uid-${name}`,
});
const shop = keyOf('shop');
const member = formatObjectKey(shop);

let server: StartedRedis;
let redis: Redis;
let state: DeliveryState;

beforeAll(async () => {
  server = await startRedis({ dir: folder.path });
  redis = await connectRedis(senderConnection({ url: server.url }), ignore);
  state = new DeliveryState(redis, keys);
});

afterAll(async () => {
  redis.disconnect();
  await server.stop();
  folder.remove();
});

beforeEach(async () => {
  await redis.flushall();
});

describe('the lease on an object', () => {
  const scoreOf = async (set: string, of = member): Promise<number | undefined> => {
    const score = await redis.zscore(set, of);
    return score === null ? undefined : Number(score);
  };
  const held = () => redis.get(keys.lease(member));

  test('is not granted without an epoch: the object is parked, once more for each attempt', async () => {
    expect(await state.acquire(shop, 'a', 1_000)).toBe(false);
    expect(await state.acquire(shop, 'a', 1_000)).toBe(false);
    expect(await scoreOf(keys.parked)).toBe(2);
    expect(await held()).toBeNull();
  });

  test('is granted in an epoch, to one holder, for its time', async () => {
    await state.beginEpoch(0);
    expect(await state.acquire(shop, 'a', 5_000)).toBe(true);
    expect(await held()).toBe('a');
    expect(await redis.pttl(keys.lease(member))).toBeGreaterThan(4_000);
    expect(await state.acquire(shop, 'b', 60_000)).toBe(false);
    expect(await held()).toBe('a');
    expect(await redis.pttl(keys.lease(member))).toBeLessThanOrEqual(5_000);
    expect(await scoreOf(keys.parked)).toBe(1);
    expect(await state.acquire(keyOf('other'), 'b', 5_000)).toBe(true);
  });

  test('is not granted before the longest lease of the epoch before has surely ended', async () => {
    await state.beginEpoch(300);
    expect(await state.acquire(shop, 'a', 1_000)).toBe(false);
    await sleep(200);
    expect(await state.acquire(shop, 'a', 1_000)).toBe(false);
    await sleep(150);
    expect(await state.acquire(shop, 'a', 1_000)).toBe(true);
  });

  test('is not granted by a server that was set back to an older state, though everything looks healthy', async () => {
    const id = await state.beginEpoch(0);
    expect(await state.readEpoch()).toEqual({ id, sameServer: true });
    await server.command('SAVE');
    await server.restartFromDump();
    await eventually('the connection is back', () => redis.status === 'ready');
    expect(await state.readEpoch()).toEqual({ id, sameServer: false });
    expect(await state.acquire(shop, 'a', 1_000)).toBe(false);
    expect(await scoreOf(keys.parked)).toBe(1);
    await state.beginEpoch(0);
    expect(await state.acquire(shop, 'a', 1_000)).toBe(true);
  });

  test('works where a service hides which server answers; an epoch is needed all the same', async () => {
    await redis.call('ACL', 'SETUSER', 'limited', 'on', '>secret', '~*', '&*', '+@all', '-info');
    const options = senderConnection({ url: server.url, username: 'limited', password: 'secret' });
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
      await redis.call('ACL', 'DELUSER', 'limited');
    }
  });

  test('is renewed by its holder, who hears how often somebody came for the object', async () => {
    await state.beginEpoch(0);
    await state.acquire(shop, 'a', 1_000);
    expect(await state.renew(shop, 'a', 9_000)).toBe(0);
    expect(await redis.pttl(keys.lease(member))).toBeGreaterThan(8_000);
    await state.acquire(shop, 'b', 1_000);
    await state.acquire(shop, 'c', 1_000);
    expect(await state.renew(shop, 'a', 9_000)).toBe(2);
  });

  test('a stale holder can neither renew nor settle, and changes nothing by trying', async () => {
    await state.beginEpoch(0);
    await state.acquire(shop, 'a', 30);
    await sleep(50);
    expect(await state.acquire(shop, 'b', 5_000)).toBe(true);
    await redis.zadd(keys.timers, 777, member);
    await redis.hset(keys.attempts, member, 3);

    expect(await state.renew(shop, 'a', 60_000)).toBeUndefined();
    expect(await state.settle(shop, 'a', { timer: { afterMs: 1 }, attempts: 'count' })).toBeUndefined();
    expect(await state.settle(shop, 'a', { timer: 'clear', attempts: 'clear' })).toBeUndefined();

    expect(await held()).toBe('b');
    expect(await redis.pttl(keys.lease(member))).toBeLessThanOrEqual(5_000);
    expect(await scoreOf(keys.timers)).toBe(777);
    expect(await state.attempts(shop)).toBe(3);
  });

  test('one that has ended with nobody after it is lost all the same', async () => {
    await state.beginEpoch(0);
    await state.acquire(shop, 'a', 20);
    await sleep(40);
    expect(await state.renew(shop, 'a', 1_000)).toBeUndefined();
    expect(await state.settle(shop, 'a', { timer: { afterMs: 1 }, attempts: 'count' })).toBeUndefined();
    expect(await scoreOf(keys.timers)).toBeUndefined();
  });

  test('settling gives the object back and says how often it was parked; the mark stays until it is published', async () => {
    await state.beginEpoch(0);
    await state.acquire(shop, 'a', 1_000);
    await state.acquire(shop, 'b', 1_000);
    expect(await state.settle(shop, 'a', { timer: 'keep', attempts: 'keep' })).toBe(1);
    expect(await held()).toBeNull();
    expect(await scoreOf(keys.parked)).toBe(1);
    expect(await state.acquire(shop, 'c', 1_000)).toBe(true);
    await state.forgetParked({ key: shop, member, score: '1' });
    expect(await state.settle(shop, 'c', { timer: 'keep', attempts: 'keep' })).toBe(0);
  });

  test('settling sets, keeps or clears the timer and the count of failures', async () => {
    await state.beginEpoch(0);
    const settle = async (settlement: Parameters<DeliveryState['settle']>[2]): Promise<void> => {
      await state.acquire(shop, 'a', 1_000);
      expect(await state.settle(shop, 'a', settlement)).toBe(0);
    };
    const before = Date.now();
    await settle({ timer: { afterMs: 5_000.4 }, attempts: 'count' });
    const due = await scoreOf(keys.timers);
    expect(due).toBeGreaterThanOrEqual(before + 5_000);
    expect(due).toBeLessThanOrEqual(Date.now() + 5_000);
    await settle({ timer: 'keep', attempts: 'count' });
    expect(await scoreOf(keys.timers)).toBe(due);
    expect(await state.attempts(shop)).toBe(2);
    await settle({ timer: { afterMs: 60_000 }, attempts: 'keep' });
    expect(await scoreOf(keys.timers)).toBeGreaterThan(Date.now() + 50_000);
    expect(await state.attempts(shop)).toBe(2);
    await settle({ timer: 'clear', attempts: 'clear' });
    expect(await scoreOf(keys.timers)).toBeUndefined();
    expect(await state.attempts(shop)).toBe(0);
  });
});

describe('timers and marks', () => {
  test('those are due whose time has come, the oldest first, as many as asked for', async () => {
    const now = Date.now();
    await redis.zadd(keys.timers, now - 1, formatObjectKey(keyOf('b')), now - 2, formatObjectKey(keyOf('a')));
    await redis.zadd(keys.timers, now + 5_000, formatObjectKey(keyOf('later')));
    expect((await state.dueTimers(now, 10)).map(({ key }) => key?.name)).toEqual(['a', 'b']);
    expect((await state.dueTimers(now, 1)).map(({ key }) => key?.name)).toEqual(['a']);
  });

  test('what is no object key can be forgotten, and holds up nothing', async () => {
    await redis.zadd(keys.timers, 1, 'garbage');
    const [due] = await state.dueTimers(Date.now(), 10);
    expect(due).toEqual({ key: undefined, member: 'garbage', score: '1' });
    if (due) await state.forgetTimer(due);
    expect(await redis.zcard(keys.timers)).toBe(0);
  });

  test('a timer that was set anew, or a mark that was made again, outlives the one that was seen', async () => {
    await redis.zadd(keys.timers, 1, member);
    const [timer] = await state.dueTimers(Date.now(), 10);
    await redis.zadd(keys.timers, Date.now() + 9_000, member);
    if (timer) await state.forgetTimer(timer);
    expect(await redis.zcard(keys.timers)).toBe(1);

    await state.acquire(shop, 'a', 1_000);
    const [mark] = await state.releasedParked(10);
    await state.acquire(shop, 'a', 1_000);
    if (mark) await state.forgetParked(mark);
    expect(await redis.zscore(keys.parked, member)).toBe('2');
    const [again] = await state.releasedParked(10);
    if (again) await state.forgetParked(again);
    expect(await redis.zcard(keys.parked)).toBe(0);
  });

  test('a due time with many digits is forgotten by exactly that time', async () => {
    await redis.zadd(keys.timers, 1_795_989_123_457, member);
    const [due] = await state.dueTimers(2e12, 1);
    expect(due?.score).toBe('1795989123457');
    if (due) await state.forgetTimer(due);
    expect(await redis.zcard(keys.timers)).toBe(0);
  });

  test('an object that nobody holds gets a timer, and none that is earlier is put off by it', async () => {
    await state.setTimer(shop, 60_000);
    await state.setTimer(shop, 10);
    await state.setTimer(shop, 60_000);
    await sleep(15);
    expect(await state.dueTimers(Date.now(), 10)).toHaveLength(1);
  });

  test('parked objects that somebody holds are left for later', async () => {
    await state.beginEpoch(0);
    await state.acquire(shop, 'a', 5_000);
    await state.acquire(shop, 'b', 5_000);
    await redis.zincrby(keys.parked, 1, formatObjectKey(keyOf('free')));
    expect((await state.releasedParked(10)).map(({ key }) => key?.name)).toEqual(['free']);
    await state.settle(shop, 'a', { timer: 'keep', attempts: 'keep' });
    expect((await state.releasedParked(10)).map(({ key }) => key?.name)).toEqual(['free', 'shop']);
  });

  test('a claim has one holder until it is released by that holder, or its time is over', async () => {
    expect(await state.claim('claim|kcp|x', 'a', 5_000)).toBe(true);
    expect(await state.claim('claim|kcp|x', 'b', 5_000)).toBe(false);
    expect(await state.claim('claim|kcp|y', 'b', 50)).toBe(true);
    await state.releaseClaim('claim|kcp|x', 'b');
    expect(await state.claim('claim|kcp|x', 'b', 5_000)).toBe(false);
    await state.releaseClaim('claim|kcp|x', 'a');
    expect(await state.claim('claim|kcp|x', 'b', 5_000)).toBe(true);
    await sleep(70);
    expect(await state.claim('claim|kcp|y', 'a', 5_000)).toBe(true);
  });
});

describe('the publisher', () => {
  let publisher: BullPublisher;
  const closing: (() => Promise<void>)[] = [];

  beforeEach(() => {
    publisher = new BullPublisher(redis, keys, ignore);
    closing.push(() => publisher.close());
  });
  afterEach(async () => {
    for (const close of closing.splice(0).toReversed()) await close();
  });

  const event = (key: ObjectKey, type: EventType = OBJECT_CHANGED): ServiceEvent =>
    serviceEvent(type, key, { reason: 'Changed' });

  function queue(name: FunctionName = 'resolve-credentials', of = keys): Queue {
    const opened = new Queue(queueName(name), { connection: redis, prefix: of.prefix });
    closing.push(() => opened.close());
    return opened;
  }
  const waitingIn = (name: FunctionName = 'resolve-credentials', of = keys): Promise<Job[]> =>
    queue(name, of).getJobs(['waiting', 'prioritized', 'active', 'delayed', 'waiting-children']);

  /** A worker that stops at its first job until it is told to go on. */
  function work(options: { name?: FunctionName; of?: typeof keys; held?: boolean } = {}) {
    const seen: { object: string; id: string; priority: number }[] = [];
    let release: () => void = ignore;
    const gate = options.held ? new Promise<void>((resolve) => (release = resolve)) : Promise.resolve();
    const worker = new Worker(
      queueName(options.name ?? 'resolve-credentials'),
      async (job) => {
        const parsed = parseServiceEvent(job.data);
        seen.push({
          object: `${parsed.key.provider}/${parsed.key.name}`,
          id: 'id' in parsed ? parsed.id : '',
          priority: job.priority,
        });
        await gate;
      },
      {
        connection: workerConnection({ url: server.url }) as ConnectionOptions,
        prefix: (options.of ?? keys).prefix,
        concurrency: 1,
      },
    );
    worker.on('error', ignore);
    closing.push(() => worker.close());
    return { seen, release: () => release(), names: () => seen.map(({ object }) => object.split('/')[1]) };
  }

  test('sends each event to the queue of its function, as it is', async () => {
    for (const type of Object.keys(RECEIVER) as EventType[]) await publisher.publish(event(shop, type), 'user');
    for (const name of FUNCTION_NAMES) {
      const jobs = await waitingIn(name);
      expect(jobs.map((job) => parseServiceEvent(job.data))).toEqual([
        expect.objectContaining({ key: shop, type: jobs[0]?.name }),
      ]);
      expect(RECEIVER[jobs[0]?.name as EventType]).toBe(name);
    }
  });

  test('keeps one waiting job for an object, however often it changes, and one for each object', async () => {
    await Promise.all(Array.from({ length: 20 }, () => publisher.publish(event(shop), 'user')));
    for (let count = 0; count < 5; count++) await publisher.publish(event(shop), 'background');
    await publisher.publish(event({ ...shop, uid: 'uid-other' }), 'user');
    await publisher.publish(event({ ...shop, cluster: 'other' }), 'user');
    expect(await waitingIn()).toHaveLength(3);
  });

  test('a change that is swallowed: all that comes while the object is worked on becomes exactly one more job, the newest', async () => {
    const worker = work({ held: true });
    await publisher.publish(event(shop), 'user');
    await eventually('the first is worked on', () => worker.seen.length === 1);
    const more = Array.from({ length: 5 }, () => event(shop));
    for (const each of more) await publisher.publish(each, 'user');
    worker.release();
    await eventually('another came', () => worker.seen.length === 2);
    await sleep(100);
    expect(worker.seen.map(({ id }) => id).slice(1)).toEqual([more.at(-1)?.id]);
    expect(await waitingIn()).toEqual([]);
  });

  test("users' changes come before background work", async () => {
    for (const name of ['a', 'b']) await publisher.publish(event(keyOf(name)), 'background');
    await publisher.publish(event(keyOf('user')), 'user');
    const worker = work();
    await eventually('all is done', () => worker.seen.length === 3);
    expect(worker.names()).toEqual(['user', 'a', 'b']);
    expect(worker.seen.map(({ priority }) => priority)).toEqual([
      USER_PRIORITY,
      BACKGROUND_PRIORITY,
      BACKGROUND_PRIORITY,
    ]);
  });

  test('a user who comes for an object that waits behind the background work raises it', async () => {
    for (const name of ['a', 'b', 'c']) await publisher.publish(event(keyOf(name)), 'background');
    await publisher.publish(event(keyOf('c')), 'user');
    const worker = work();
    await eventually('all is done', () => worker.seen.length === 3);
    expect(worker.names()).toEqual(['c', 'a', 'b']);
    expect(worker.seen[0]?.priority).toBe(USER_PRIORITY);
  });

  test('a user who comes twice keeps his place', async () => {
    for (const name of ['a', 'b', 'a']) await publisher.publish(event(keyOf(name)), 'user');
    const worker = work();
    await eventually('all is done', () => worker.seen.length === 2);
    expect(worker.names()).toEqual(['a', 'b']);
  });

  test("a demotion: background work does not overwrite a user's next run that is stored already", async () => {
    const worker = work({ held: true });
    await publisher.publish(event(shop), 'user');
    await eventually('the first is worked on', () => worker.seen.length === 1);
    for (const name of ['a', 'b']) await publisher.publish(event(keyOf(name)), 'background');
    const newest = event(shop);
    await publisher.publish(newest, 'user');
    await publisher.publish(event(shop), 'background');
    worker.release();
    await eventually('all is done', () => worker.seen.length === 4);
    expect(worker.names()).toEqual(['shop', 'shop', 'a', 'b']);
    expect(worker.seen[1]).toMatchObject({ id: newest.id, priority: USER_PRIORITY });
  });

  test('a user promotes the next run that background work has stored', async () => {
    const worker = work({ held: true });
    await publisher.publish(event(shop), 'user');
    await eventually('the first is worked on', () => worker.seen.length === 1);
    await publisher.publish(event(keyOf('a')), 'background');
    await publisher.publish(event(shop), 'background');
    await publisher.publish(event(shop), 'user');
    worker.release();
    await eventually('all is done', () => worker.seen.length === 3);
    expect(worker.names()).toEqual(['shop', 'shop', 'a']);
  });

  test('leaves nothing of a job behind', async () => {
    const worker = work();
    const sent = [shop, keyOf('b')].map((key) => event(key));
    for (const each of sent) await publisher.publish(each, 'user');
    await eventually('all is done', async () => worker.seen.length === 2 && (await waitingIn()).length === 0);
    const left = await redis.keys(`${keys.prefix}:*`);
    expect(left.filter((key) => sent.some(({ id }) => key.includes(id)) || /:(de|dn):/.test(key))).toEqual([]);
    expect(await queue().getJobCounts('completed', 'failed')).toEqual({ completed: 0, failed: 0 });
  });

  test('a producer that waits for ever: it rejects at once while Redis is down, and goes on when it is back', async () => {
    await publisher.publish(event(shop), 'user');
    await server.stop();
    for (const priority of ['user', 'background'] as const) {
      const started = performance.now();
      await expect(publisher.publish(event(keyOf('b')), priority)).rejects.toThrow(
        /Stream isn't writeable|Connection is closed|max retries/i,
      );
      expect(performance.now() - started).toBeLessThan(500);
    }
    await server.restartEmpty();
    await eventually('it goes on', async () => {
      await publisher.publish(event(keyOf('c')), 'user');
      return true;
    });
    expect((await waitingIn()).map((job) => parseServiceEvent(job.data).key.name)).toEqual(['c']);
  });

  test('two providers on one Redis see nothing of each other', async () => {
    const otherKeys = queueKeys('other');
    const otherState = new DeliveryState(redis, otherKeys);
    const otherPublisher = new BullPublisher(redis, otherKeys, ignore);
    closing.push(() => otherPublisher.close());

    await state.beginEpoch(0);
    expect(await state.acquire(shop, 'a', 5_000)).toBe(true);
    expect(await otherState.acquire(keyOf('shop', 'other'), 'b', 5_000)).toBe(false);
    await otherState.beginEpoch(0);
    expect(await otherState.acquire(keyOf('shop', 'other'), 'b', 5_000)).toBe(true);
    // Even for the very same key.
    expect(await otherState.acquire(shop, 'b', 5_000)).toBe(true);
    await state.setTimer(shop, 0);
    expect(await otherState.dueTimers(Date.now() + 1_000, 10)).toEqual([]);

    await publisher.publish(event(shop), 'user');
    await otherPublisher.publish(event(keyOf('shop', 'other')), 'user');
    await publisher.publish(event(shop, INSTALL_REQUESTED), 'user');
    const [mine, theirs] = [work(), work({ of: otherKeys })];
    await eventually('both are done', () => mine.seen.length === 1 && theirs.seen.length === 1);
    await sleep(50);
    expect(mine.seen.map(({ object }) => object)).toEqual(['db/shop']);
    expect(theirs.seen.map(({ object }) => object)).toEqual(['other/shop']);
  });
});
