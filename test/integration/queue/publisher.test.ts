import { setTimeout as sleep } from 'node:timers/promises';
import { type ConnectionOptions, type Job, Queue, Worker } from 'bullmq';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  type EventType,
  FUNCTION_NAMES,
  type FunctionName,
  INSTALL_REQUESTED,
  OBJECT_CHANGED,
  RECEIVER,
} from '../../../shared/events/catalogue.ts';
import { parseServiceEvent, type ServiceEvent, serviceEvent } from '../../../shared/events/service-event.ts';
import type { ObjectKey } from '../../../shared/model/object-key.ts';
import { DeliveryState } from '../../../shared/queue/delivery-state.ts';
import { queueKeys, queueName } from '../../../shared/queue/keys.ts';
import { BullPublisher } from '../../../shared/queue/publisher.ts';
import { workerConnection } from '../../../shared/queue/redis.ts';
import { BACKGROUND_PRIORITY, USER_PRIORITY } from '../../../shared/tuning.ts';
import { eventually } from '../../support/wait.ts';
import { ignore, keyOf, keys, redisHarness, shop, setTimer } from '../redis-harness.ts';

const harness = redisHarness('queue-test');

describe('the publisher', () => {
  let publisher: BullPublisher;
  const closing: (() => Promise<void>)[] = [];

  beforeEach(() => {
    publisher = new BullPublisher(harness.redis, keys, ignore);
    closing.push(() => publisher.close());
  });
  afterEach(async () => {
    for (const close of closing.splice(0).toReversed()) await close();
  });

  const event = (key: ObjectKey, type: EventType = OBJECT_CHANGED): ServiceEvent =>
    serviceEvent(type, key, { reason: 'Changed' });

  function queue(name: FunctionName = 'resolve-credentials', of = keys): Queue {
    const opened = new Queue(queueName(name), { connection: harness.redis, prefix: of.prefix });
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
        connection: workerConnection({ url: harness.server.url }) as ConnectionOptions,
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
    const left = await harness.redis.keys(`${keys.prefix}:*`);
    expect(left.filter((key) => sent.some(({ id }) => key.includes(id)) || /:(de|dn):/.test(key))).toEqual([]);
    expect(await queue().getJobCounts('completed', 'failed')).toEqual({ completed: 0, failed: 0 });
  });

  test('a producer that waits for ever: it rejects at once while Redis is down, and goes on when it is back', async () => {
    await publisher.publish(event(shop), 'user');
    await harness.server.stop();
    for (const priority of ['user', 'background'] as const) {
      const started = performance.now();
      await expect(publisher.publish(event(keyOf('b')), priority)).rejects.toThrow(
        /Stream isn't writeable|Connection is closed|max retries/i,
      );
      expect(performance.now() - started).toBeLessThan(500);
    }
    await harness.server.restartEmpty();
    await eventually('it goes on', async () => {
      await publisher.publish(event(keyOf('c')), 'user');
      return true;
    });
    expect((await waitingIn()).map((job) => parseServiceEvent(job.data).key.name)).toEqual(['c']);
  });

  test('two providers on one Redis see nothing of each other', async () => {
    const otherKeys = queueKeys('other');
    const otherState = new DeliveryState(harness.redis, otherKeys);
    const otherPublisher = new BullPublisher(harness.redis, otherKeys, ignore);
    closing.push(() => otherPublisher.close());

    await harness.state.beginEpoch(0);
    expect(await harness.state.acquire(shop, 'a', 5_000)).toBe(true);
    expect(await otherState.acquire(keyOf('shop', { provider: 'other' }), 'b', 5_000)).toBe(false);
    await otherState.beginEpoch(0);
    expect(await otherState.acquire(keyOf('shop', { provider: 'other' }), 'b', 5_000)).toBe(true);
    // Even for the very same key.
    expect(await otherState.acquire(shop, 'b', 5_000)).toBe(true);
    await setTimer(harness.redis, shop, -1);
    expect(await otherState.dueTimers(10)).toEqual([]);

    await publisher.publish(event(shop), 'user');
    await otherPublisher.publish(event(keyOf('shop', { provider: 'other' })), 'user');
    await publisher.publish(event(shop, INSTALL_REQUESTED), 'user');
    const [mine, theirs] = [work(), work({ of: otherKeys })];
    await eventually('both are done', () => mine.seen.length === 1 && theirs.seen.length === 1);
    await sleep(50);
    expect(mine.seen.map(({ object }) => object)).toEqual(['db/shop']);
    expect(theirs.seen.map(({ object }) => object)).toEqual(['other/shop']);
  });
});
