import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker as Thread } from 'node:worker_threads';
import { Queue } from 'bullmq';
import type { Redis } from 'ioredis';
import pino from 'pino';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { startDuties } from '../../bridge/upkeep/duties.ts';
import { EpochKeeper } from '../../bridge/upkeep/epoch.ts';
import { Sender } from '../../bridge/send/sender.ts';
import { DEFAULT_TUNING } from '../../bridge/tuning.ts';
import type { DeliveredStep, Invoke } from '../../functions/host/deliver.ts';
import type { LeaseTimes, ObjectLease } from '../../functions/host/lease.ts';
import { startWorker } from '../../functions/host/worker.ts';
import {
  DELETE_REQUESTED,
  type EventType,
  FUNCTION_NAMES,
  type FunctionName,
  INSTALL_REQUESTED,
  OBJECT_CHANGED,
  RECEIVER,
  TEARDOWN_REQUESTED,
} from '../../shared/events/catalogue.ts';
import { type ServiceEvent, serviceEvent, toCloudEvent } from '../../shared/events/service-event.ts';
import { formatObjectKey, type ObjectKey } from '../../shared/model/object-key.ts';
import { again, done, failed, type Outcome, waiting } from '../../shared/model/outcome.ts';
import { DeliveryState } from '../../shared/queue/delivery-state.ts';
import { queueKeys, queueName } from '../../shared/queue/keys.ts';
import { BullPublisher, type Priority } from '../../shared/queue/publisher.ts';
import { connectRedis, senderConnection, workerConnection } from '../../shared/queue/redis.ts';
import { type StartedRedis, startRedis } from '../control-planes/redis.ts';
import { createRunFolder } from '../support/run-folder.ts';
import { eventually } from '../support/wait.ts';
import type { ThreadOrder, ThreadReport } from './delivery-thread.ts';

const PROVIDER = 'db';
const TIMES: LeaseTimes = { leaseMs: 600, renewalMs: 50, marginMs: 100 };
const folder = createRunFolder('delivery-test');
const ignore = (): void => undefined;
const keys = queueKeys(PROVIDER);
const keyOf = (name: string, more: Partial<ObjectKey> = {}): ObjectKey => ({
  provider: PROVIDER,
  mode: 'standard',
  cluster: 'onboarding',
  namespace: 'project-a',
  name,
  uid: `uid-${name}`,
  ...more,
});
const shop = keyOf('shop');
const member = formatObjectKey(shop);

let server: StartedRedis;
let redis: Redis;
let state: DeliveryState;
let publisher: BullPublisher;
/** Every line that was logged in this test. */
let logged: { level: number; msg: string; err?: { message: string } }[];
let log: pino.Logger;
const closing: (() => unknown)[] = [];

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
  publisher = new BullPublisher(redis, keys, ignore);
  logged = [];
  log = pino({ level: 'debug' }, { write: (line: string) => void logged.push(JSON.parse(line) as (typeof logged)[0]) });
});
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
  await publisher.close();
  redis.disconnect();
});

/** One invocation as the test saw it. */
interface Seen {
  readonly object: string;
  readonly functionName: FunctionName;
  readonly reason: string;
  readonly id: string;
  readonly startedAt: number;
  endedAt?: number;
  outcome?: Outcome;
}

/** What the bridge does without any watch: due timers, parked objects, the epoch; for these objects. */
async function startBridge(objects: readonly ObjectKey[] = [shop], longestLeaseMs = TIMES.leaseMs): Promise<void> {
  const tuning = { ...DEFAULT_TUNING, timerSweepMs: 20, parkedSweepMs: 30, epochCheckMs: 50, longestLeaseMs };
  const quiet = pino({ level: 'silent' });
  const sender = new Sender(publisher, () => redis.status === 'ready' && epoch.verified, { tuning, log: quiet });
  const epoch = new EpochKeeper(state, {
    longestLeaseMs,
    log: quiet,
    onChanged: () =>
      sender.sweep(
        'epoch',
        objects.map((key) => ({ key, reason: 'EpochChanged' as const, priority: 'background' as const })),
      ),
  });
  const stop = startDuties({ redis, state, epoch, sender, resync: ignore, tuning, log: quiet });
  closing.push(stop, () => sender.stop());
  await eventually('there is an epoch', async () => (await state.readEpoch()).sameServer);
}

/** An epoch in which leases are handed out at once, without a bridge. */
const begin = (): Promise<string> => state.beginEpoch(0);

/** Workers of this process for some functions, and a record of what they did. */
async function startHost(
  handler: (event: ServiceEvent, lease: ObjectLease, name: FunctionName) => Promise<Outcome>,
  functions: readonly FunctionName[] = FUNCTION_NAMES,
  concurrency = 10,
): Promise<{ seen: Seen[]; of: (name: FunctionName) => Seen[]; steps: DeliveredStep[] }> {
  const seen: Seen[] = [];
  const steps: DeliveredStep[] = [];
  await Promise.all(
    functions.map(async (functionName) => {
      const invoke: Invoke = async (event, lease) => {
        const { reason, id, key } = event;
        const one: Seen = { object: formatObjectKey(key), functionName, reason, id, startedAt: performance.now() };
        seen.push(one);
        lease.keepRenewed(ignore);
        try {
          one.outcome = await handler(event, lease, functionName);
          return one.outcome;
        } finally {
          one.endedAt = performance.now();
        }
      };
      const worker = startWorker({
        provider: PROVIDER,
        functionName,
        state,
        publisher,
        invoke,
        times: TIMES,
        log,
        keys,
        concurrency,
        connection: workerConnection({ url: server.url }),
        jobLockMs: 1_000,
        stalledCheckMs: 200,
        onStep: (step) => steps.push(step),
      });
      closing.push(() => worker.close());
    }),
  );
  return { seen, steps, of: (name) => seen.filter((each) => each.functionName === name) };
}

function publish(type: EventType = OBJECT_CHANGED, key = shop, priority: Priority = 'user'): Promise<void> {
  return publisher.publish(serviceEvent(type, key, { reason: 'Changed' }), priority);
}

function queue(name: FunctionName): Queue {
  const opened = new Queue(queueName(name), { connection: redis, prefix: keys.prefix });
  closing.push(() => opened.close());
  return opened;
}

/** Nothing waits anywhere, nobody holds anything. */
async function quiet(): Promise<void> {
  const queues = FUNCTION_NAMES.map(queue);
  await eventually('all work is done', async (saw) => {
    const counts = await Promise.all(queues.map((each) => each.getJobCounts('waiting', 'active', 'prioritized')));
    const jobs = counts.flatMap((count) => Object.values(count)).reduce((sum, count) => sum + count, 0);
    const [parked, leases] = await Promise.all([redis.zcard(keys.parked), redis.keys(keys.lease('*'))]);
    saw({ jobs, parked, leases });
    return jobs + parked + leases.length === 0;
  });
}

/** A handler that waits until the test lets it go on. */
function gate(): { passed: Promise<void>; open: () => void } {
  let open: () => void = ignore;
  const passed = new Promise<void>((resolve) => (open = resolve));
  return { passed, open };
}

const dueIn = async (): Promise<number | undefined> => {
  const score = await redis.zscore(keys.timers, member);
  return score === null ? undefined : Number(score) - Date.now();
};

/** Most invocations of one object at the same moment. */
function mostAtOnce(seen: readonly Seen[], of: (one: Seen) => string): number {
  const moments = seen
    .flatMap((one) => [
      { at: one.startedAt, change: 1, of: of(one) },
      { at: one.endedAt ?? Number.POSITIVE_INFINITY, change: -1, of: of(one) },
    ])
    .sort((a, b) => a.at - b.at || a.change - b.change);
  const now = new Map<string, number>();
  let most = 0;
  for (const moment of moments) {
    const count = (now.get(moment.of) ?? 0) + moment.change;
    now.set(moment.of, count);
    most = Math.max(most, count);
  }
  return most;
}

describe('one at a time', () => {
  test('an object is never in two invocations, across all queues and workers, and its last change is worked on', async () => {
    const objects = ['a', 'b', 'c', 'd'].map((name) => keyOf(name));
    await startBridge(objects, 0);
    const handler = async (): Promise<Outcome> => {
      await sleep(Math.random() * 6);
      return done();
    };
    const hosts = await Promise.all([startHost(handler), startHost(handler)]);
    const types = Object.keys(RECEIVER) as EventType[];
    const lastPublished = new Map<string, number>();
    for (let round = 0; round < 150; round++) {
      const key = objects[round % objects.length] as ObjectKey;
      lastPublished.set(formatObjectKey(key), performance.now());
      await publish(types[Math.floor(round / 4) % types.length], key);
    }
    await quiet();
    const seen = hosts.flatMap((host) => host.seen);
    expect(mostAtOnce(seen, ({ object }) => object)).toBe(1);
    // Different objects do run side by side, and objects were fought for: else this proves nothing.
    expect(mostAtOnce(seen, () => 'all')).toBeGreaterThan(1);
    expect(logged.filter(({ msg }) => msg.includes('parked')).length).toBeGreaterThan(5);
    for (const host of hosts) expect(host.seen.length).toBeGreaterThan(10);
    for (const [object, published] of lastPublished) {
      const last = Math.max(...seen.filter((one) => one.object === object).map(({ startedAt }) => startedAt));
      expect(last).toBeGreaterThan(published);
    }
  });

  test('two objects of one workspace are not claimed at once, those of two workspaces are', async () => {
    await begin();
    const { seen } = await startHost(async () => {
      await sleep(60);
      return done();
    });
    const inWorkspace = (cluster: string, name: string) => keyOf(name, { mode: 'kcp', cluster });
    const all = [inWorkspace('one', 'a'), inWorkspace('one', 'b'), inWorkspace('two', 'a'), inWorkspace('two', 'b')];
    await Promise.all(all.map((key) => publish(OBJECT_CHANGED, key)));
    await eventually('all four had their turn', () => seen.filter(({ outcome }) => outcome).length === 4);
    expect(mostAtOnce(seen, ({ object }) => object.split('|')[2] as string)).toBe(1);
    expect(mostAtOnce(seen, () => 'all')).toBe(2);
    // The claim is about the choice alone: installations of one workspace's objects don't wait for each other.
    seen.length = 0;
    await Promise.all(all.slice(0, 2).map((key) => publish(INSTALL_REQUESTED, key)));
    await eventually('both had their turn', () => seen.filter(({ outcome }) => outcome).length === 2);
    expect(mostAtOnce(seen, ({ object }) => object.split('|')[2] as string)).toBe(2);
    await quiet();
  });
});

describe('nothing is lost', () => {
  test('a change that comes while its object is worked on is worked on afterwards: in the same queue', async () => {
    await begin();
    const { passed, open } = gate();
    const { seen } = await startHost(async () => {
      await passed;
      return done();
    });
    await publish();
    await eventually('it is worked on', () => seen.length === 1);
    for (let change = 0; change < 3; change++) await publish();
    await sleep(100);
    expect(seen).toHaveLength(1);
    open();
    await eventually('it is worked on again', () => seen.length === 2);
    await quiet();
    expect(seen).toHaveLength(2);
    expect(seen[1]?.startedAt).toBeGreaterThanOrEqual(seen[0]?.endedAt ?? Number.POSITIVE_INFINITY);
  });

  test('a change that comes while another function works on its object is worked on as soon as that ends', async () => {
    await begin();
    const { passed, open } = gate();
    const { seen, of } = await startHost(async (_event, _lease, name) => {
      if (name === 'provider-install') await passed;
      return done();
    });
    await publish(INSTALL_REQUESTED);
    await eventually('it is installed', () => seen.length === 1);
    await publish();
    await eventually('somebody came for it', async () => (await redis.zscore(keys.parked, member)) === '1');
    expect(of('resolve-credentials')).toEqual([]);
    open();
    // Without a bridge: the holder itself sends it on.
    await eventually('the change is worked on', () => of('resolve-credentials').length === 1);
    expect(of('resolve-credentials')[0]).toMatchObject({ reason: 'Parked' });
    await quiet();
  });

  test('an object that was parked before there was an epoch is worked on once there is one', async () => {
    const { seen } = await startHost(() => Promise.resolve(done()));
    await publish();
    await eventually('it is parked', async () => (await redis.zscore(keys.parked, member)) === '1');
    await startBridge([], 200);
    await eventually('it is worked on', () => seen.length === 1);
    expect(seen[0]?.reason).toBe('Parked');
    await quiet();
  });

  test('one that was parked under a holder who died is worked on once the lease has ended', async () => {
    await begin();
    const { seen } = await startHost(() => Promise.resolve(done()));
    expect(await state.acquire(shop, 'a holder who is dead', 400)).toBe(true);
    await publish();
    await eventually('it is parked', async () => (await redis.zscore(keys.parked, member)) === '1');
    await startBridge([]);
    await sleep(100);
    expect(seen).toEqual([]);
    await eventually('it is worked on', () => seen.length === 1);
    await quiet();
  });

  test('a worker that is stopped ends what it does, and takes no more', async () => {
    await begin();
    const { passed, open } = gate();
    const first = await startHost(
      async () => {
        await passed;
        return done();
      },
      ['resolve-credentials'],
      1,
    );
    await publish();
    await publish(OBJECT_CHANGED, keyOf('second'));
    await eventually('the first is worked on', () => first.seen.length === 1);
    const stopped = closing.pop()?.() as Promise<void>;
    await sleep(50);
    open();
    await stopped;
    expect(first.seen.map(({ outcome }) => outcome?.kind)).toEqual(['done']);
    const { seen } = await startHost(() => Promise.resolve(done()), ['resolve-credentials']);
    await eventually('the second waits for the next worker', () => seen.length === 1);
    expect(seen[0]?.object).toBe(formatObjectKey(keyOf('second')));
  });
});

describe('outcomes', () => {
  test('a step that is done sends the next one, with its own priority', async () => {
    await begin();
    const { of } = await startHost(() => Promise.resolve(done(INSTALL_REQUESTED)), ['resolve-credentials']);
    await publish(OBJECT_CHANGED, keyOf('background'), 'background');
    await publish(OBJECT_CHANGED, keyOf('user'), 'user');
    await eventually('both are through', () => of('resolve-credentials').filter(({ outcome }) => outcome).length === 2);
    const jobs = await eventually('both are sent on', async () => {
      const found = await queue('provider-install').getJobs(['waiting', 'prioritized']);
      return found.length === 2 && found;
    });
    const priorities = jobs.map((job) => [(job.data as { subject: string }).subject.split('/')[1], job.priority]);
    expect(Object.fromEntries(priorities)).toEqual({ background: 10, user: 0 });
    expect(jobs[0]?.data).toMatchObject({ type: INSTALL_REQUESTED, reason: 'NextStep' });
  });

  test('a flow that ends in silence: a step whose precondition is false sends its object back to the start', async () => {
    await begin();
    const { of } = await startHost((_event, _lease, name) =>
      Promise.resolve(name === 'provider-delete' ? done(OBJECT_CHANGED) : done()),
    );
    await publish(DELETE_REQUESTED);
    await eventually('it is back at the start', () => of('resolve-credentials').length === 1);
    expect(of('resolve-credentials')[0]?.reason).toBe('PreconditionFailed');
    await quiet();
  });

  test('a failure backs off by a timer, longer each time; success forgets that', async () => {
    await startBridge([], 0);
    let failures = 2;
    const { seen } = await startHost(() => Promise.resolve(failures-- > 0 ? failed('broken') : done()));
    await publish();
    const first = await eventually('a timer after the first failure', dueIn);
    expect(first).toBeGreaterThan(500);
    expect(first).toBeLessThanOrEqual(1_200);
    expect(await state.attempts(shop)).toBe(1);
    await eventually('it is tried again', () => seen.length === 2);
    const [one, two] = seen as [Seen, Seen];
    expect(two.startedAt - one.startedAt).toBeGreaterThanOrEqual(790);
    expect(two.reason).toBe('Timer');
    const second = await eventually('a timer after the second failure', dueIn);
    expect(second).toBeGreaterThan(1_300);
    expect(second).toBeLessThanOrEqual(2_400);
    expect(await state.attempts(shop)).toBe(2);
    await eventually('it is tried a third time', () => seen.length === 3);
    await quiet();
    expect(await state.attempts(shop)).toBe(0);
    expect(await dueIn()).toBeUndefined();
  });

  test("a user's change wakes an object out of its backoff at once", async () => {
    await startBridge([], 0);
    let failures = 1;
    const { seen } = await startHost(() => Promise.resolve(failures-- > 0 ? failed('broken') : done()));
    await redis.hset(keys.attempts, member, 20);
    await publish();
    expect(await eventually('a long timer', dueIn)).toBeGreaterThan(200_000);
    const changed = performance.now();
    await publish();
    await eventually('it is worked on', () => seen.length === 2);
    expect(performance.now() - changed).toBeLessThan(1_000);
    await quiet();
    expect(await dueIn()).toBeUndefined();
  });

  test('an error that escapes a handler is a failure like any other, not a job that is tried in a tight loop', async () => {
    await begin();
    const { seen, steps } = await startHost(() => Promise.reject(new Error('escaped')));
    await publish();
    await eventually('a timer', dueIn);
    await sleep(200);
    expect(seen).toHaveLength(1);
    expect(steps.map(({ outcome }) => outcome)).toEqual([{ kind: 'failed', message: 'escaped', permanent: false }]);
  });

  test.each([
    ['done', done(), undefined],
    ['a permanent failure', failed('never', true), undefined],
    ['again', again(40_000, 'x'), [39_000, 40_000]],
    ['waiting', waiting('x'), [95_000, 144_000]],
  ] as const)('a timer that was set before is replaced by %s', async (_what, outcome, expected) => {
    await begin();
    await state.setTimer(shop, 1_000_000);
    const { steps } = await startHost(() => Promise.resolve(outcome));
    await publish();
    await eventually('the step is through', () => steps.length === 1);
    const due = await dueIn();
    expect(due === undefined ? undefined : due > (expected?.[0] ?? 0) && due <= (expected?.[1] ?? 0)).toBe(
      expected ? true : undefined,
    );
  });

  test('a pass that goes on leaves the timer alone', async () => {
    await begin();
    await state.setTimer(shop, 1_000_000);
    const { steps } = await startHost(() => Promise.resolve(done(TEARDOWN_REQUESTED)), ['resolve-credentials']);
    await publish();
    await eventually('the step is through', () => steps.length === 1);
    expect(await dueIn()).toBeGreaterThan(990_000);
  });
});

describe('a lease that is lost', () => {
  test('Redis wiped in the middle: the outcome does not count, and the object is looked at again', async () => {
    await startBridge([shop], 300);
    const { passed, open } = gate();
    const { of, seen, steps } = await startHost(async (_event, _lease, name) => {
      if (name === 'resolve-credentials' && seen.length === 1) {
        await passed;
        return done(INSTALL_REQUESTED);
      }
      return done();
    });
    await eventually('it is worked on', () => seen.length === 1);
    await redis.flushall();
    open();
    await eventually('it is looked at again', () => of('resolve-credentials').length >= 2);
    await quiet();
    expect(steps[0]?.outcome).toEqual(done(INSTALL_REQUESTED));
    expect(of('provider-install')).toEqual([]);
    expect(of('resolve-credentials')[1]?.reason).toMatch(/^(LeaseLost|EpochChanged|Parked)$/);
    expect(logged.some(({ msg }) => msg === 'the lease was lost during the invocation')).toBe(true);
  });

  test('after a wipe nobody is handed an object that may still be held by one who does not know', async () => {
    const QUIET_MS = 500;
    await startBridge([shop], QUIET_MS);
    const { seen } = await startHost(() => Promise.resolve(done()));
    await eventually('it is worked on', () => seen.length === 1);
    await quiet();
    const wiped = performance.now();
    await redis.flushall();
    await eventually('it is worked on again', () => seen.length === 2);
    expect((seen[1] as Seen).startedAt - wiped).toBeGreaterThanOrEqual(QUIET_MS);
  });

  test('taken away in the middle: neither timer nor count is touched, and the next events are not sent', async () => {
    await begin();
    const { passed, open } = gate();
    const { of, seen } = await startHost(async () => {
      if (seen.length > 1) return done();
      await passed;
      return failed('stale');
    });
    await publish(INSTALL_REQUESTED);
    await eventually('it is worked on', () => seen.length === 1);
    await redis.set(keys.lease(member), 'another holder', 'PX', 300);
    open();
    await eventually('it is sent back', async () => (await redis.zscore(keys.parked, member)) !== null);
    expect(await dueIn()).toBeUndefined();
    expect(await state.attempts(shop)).toBe(0);
    await startBridge([], 0);
    await eventually('it is looked at', () => of('resolve-credentials').length === 1);
    await quiet();
  });

  test('its holder is told at the next renewal, and sends nothing more', async () => {
    await begin();
    let said: unknown;
    const { seen } = await startHost(async (_event, lease) => {
      if (seen.length > 1) return done();
      lease.guard();
      await redis.del(keys.lease(member));
      await once(lease.signal, 'abort');
      said = lease.signal.reason;
      expect(() => lease.guard()).toThrow(expect.objectContaining({ code: 'STALE_HOLDER' }) as Error);
      return done();
    });
    await publish();
    await eventually('it was told', () => said !== undefined);
    expect(said).toBe('LeaseLost');
    await quiet();
  });

  test('Redis hangs for longer than the lease: the holder stops by its own clock, without an answer', async () => {
    await begin();
    let refusedAfter: number | undefined;
    const { seen } = await startHost(async (_event, lease) => {
      if (seen.length > 1) return done();
      server.signal('SIGSTOP');
      const stopped = performance.now();
      try {
        while (refusedAfter === undefined) {
          await sleep(10);
          try {
            lease.guard();
          } catch {
            refusedAfter = performance.now() - stopped;
          }
        }
      } finally {
        server.signal('SIGCONT');
      }
      return done();
    });
    await publish();
    await eventually('it stopped', () => refusedAfter !== undefined);
    expect(refusedAfter).toBeLessThanOrEqual(TIMES.leaseMs - TIMES.marginMs + 60);
    await quiet();
  });

  test('a lock lost while working: an event loop that blocks longer than the lease stops at its next guard', async () => {
    await startBridge([], 0);
    const order: ThreadOrder = { url: server.url, provider: PROVIDER, times: TIMES, blockMs: 2_000 };
    const thread = new Thread(new URL('./delivery-thread.ts', import.meta.url), { workerData: order });
    closing.push(() => thread.terminate());
    const reports: ThreadReport[] = [];
    thread.on('message', (report: ThreadReport) => reports.push(report));
    await eventually('the other worker is ready', () => reports.includes('ready'));
    await publish(INSTALL_REQUESTED);
    await eventually('the other worker blocks', () => reports.includes('blocking'));

    const { seen, of } = await startHost(() => Promise.resolve(again(77_000, 'x')), ['resolve-credentials']);
    await publish();
    await eventually('the object is taken over', () => of('resolve-credentials').length === 1, { timeout: 1_500 });
    expect(reports).not.toContain('goes on');
    await eventually('the blocked one is through', () => reports.includes('lease lost'));
    expect(reports).toEqual(['ready', 'blocking', 'refused: STALE_HOLDER', 'lease lost']);
    await quiet();
    // Its failure set no timer and counted nothing; only that it was lost is looked into.
    expect(await state.attempts(shop)).toBe(0);
    expect(await dueIn()).toBeGreaterThan(70_000);
    expect(seen.map(({ reason }) => reason)).toContain('LeaseLost');
  });
});

describe('events that are not as they should be', () => {
  const addRaw = async (name: FunctionName, data: unknown): Promise<void> => {
    await queue(name).add('raw', data, { removeOnComplete: true });
  };
  const worksOn = async (host: { seen: Seen[] }): Promise<void> => {
    const before = host.seen.length;
    await publish(OBJECT_CHANGED, keyOf('next'));
    await eventually('the worker goes on', () => host.seen.length === before + 1);
    expect(host.seen.at(-1)?.object).toBe(formatObjectKey(keyOf('next')));
    await quiet();
  };
  const cloudEvent = (fields: object): object => ({
    ...toCloudEvent(serviceEvent(OBJECT_CHANGED, shop, { reason: 'Changed' })).toJSON(),
    ...fields,
  });

  test('one of a version that only a newer worker knows is handed back by a timer, not lost', async () => {
    await startBridge([], 0);
    const host = await startHost(() => Promise.resolve(done()));
    await addRaw('provider-install', cloudEvent({ type: INSTALL_REQUESTED.replace('.v1', '.v2') }));
    const due = await eventually('a timer', dueIn);
    expect(due).toBeGreaterThan(8_000);
    expect(due).toBeLessThanOrEqual(10_000);
    expect(host.seen).toEqual([]);
    await state.setTimer(shop, 0);
    await eventually('it is looked at', () => host.seen.length === 1);
    expect(host.seen[0]).toMatchObject({ functionName: 'resolve-credentials', reason: 'Timer' });
    await worksOn(host);
  });

  test.each([
    ['no event at all', { hello: 'world' }],
    ['an event about nothing', cloudEvent({ subject: 'nothing' })],
    ['an event of somebody else', cloudEvent({ type: 'com.example.other.v1' })],
  ])('%s is logged, and the worker goes on', async (_what, data) => {
    await begin();
    const host = await startHost(() => Promise.resolve(done()));
    await addRaw('resolve-credentials', data);
    await eventually('it is logged', () => logged.some(({ msg, level }) => msg === 'event refused' && level >= 50));
    expect(host.seen).toEqual([]);
    await worksOn(host);
  });

  test("another provider's event is refused: its object is not ours to hold", async () => {
    await begin();
    const host = await startHost(() => Promise.resolve(done()));
    await addRaw('resolve-credentials', cloudEvent({ source: '/serviceproviders/other/standard/onboarding' }));
    await eventually('it is logged', () => logged.some(({ msg }) => msg.includes('for another provider')));
    expect(host.seen).toEqual([]);
    await worksOn(host);
  });

  test('one in the wrong queue starts over instead of doing what it must not do', async () => {
    await begin();
    const host = await startHost(() => Promise.resolve(done()));
    await addRaw('access-teardown', cloudEvent({ type: DELETE_REQUESTED }));
    await eventually('its object is looked at', () => host.of('resolve-credentials').length === 1);
    expect(host.seen).toHaveLength(1);
    expect(host.seen[0]).toMatchObject({ object: member, reason: 'PreconditionFailed' });
    await worksOn(host);
  });
});
