import { Queue } from 'bullmq';
import pino from 'pino';
import { afterEach, beforeEach } from 'vitest';
import { Sender } from '../../../bridge/send/sender.ts';
import { DEFAULT_TUNING } from '../../../bridge/tuning.ts';
import { startDuties } from '../../../bridge/upkeep/duties.ts';
import { EpochKeeper } from '../../../bridge/upkeep/epoch.ts';
import type { DeliveredStep, Invoke } from '../../../functions/host/deliver.ts';
import type { LeaseTimes } from '../../../functions/host/lease.ts';
import type { Hold } from '../../../functions/step/hold.ts';
import { startWorker } from '../../../functions/host/worker.ts';
import { type EventType, FUNCTION_NAMES, type FunctionName, OBJECT_CHANGED } from '../../../shared/events/catalogue.ts';
import { type ServiceEvent, serviceEvent } from '../../../shared/events/service-event.ts';
import { formatObjectKey, type ObjectKey } from '../../../shared/model/object-key.ts';
import type { Outcome } from '../../../shared/events/outcome.ts';
import { queueName } from '../../../shared/queue/keys.ts';
import { BullPublisher, type Priority } from '../../../shared/queue/publisher.ts';
import { workerConnection } from '../../../shared/queue/redis.ts';
import { eventually } from '../../support/wait.ts';
import { ignore, keys, member, PROVIDER, type RedisHarness, redisHarness, shop } from '../redis-harness.ts';

export const TIMES: LeaseTimes = { leaseMs: 600, renewalMs: 50, marginMs: 100 };

type Handler = (event: ServiceEvent, lease: Hold, name: FunctionName) => Promise<Outcome>;

/** One invocation as the test saw it. */
export interface Seen {
  readonly object: string;
  readonly functionName: FunctionName;
  readonly reason: string;
  readonly id: string;
  readonly startedAt: number;
  endedAt?: number;
  outcome?: Outcome;
}

/** Workers of this process, and what they did. */
export interface Host {
  readonly seen: Seen[];
  readonly steps: DeliveredStep[];
  of(name: FunctionName): Seen[];
}

/** Bridge and functions without any cluster: what they do with one Redis. */
export class Delivery {
  readonly #harness: RedisHarness = redisHarness('delivery-test');
  #publisher!: BullPublisher;
  #log!: pino.Logger;
  /** Every line that was logged in this test. */
  logged: { level: number; msg: string; err?: { message: string } }[] = [];
  /** What is to be closed at the end of this test, the last first. */
  readonly closing: (() => unknown)[] = [];

  constructor() {
    beforeEach(() => {
      this.#publisher = new BullPublisher(this.redis, keys, ignore);
      this.logged = [];
      const write = (line: string): void => void this.logged.push(JSON.parse(line) as (typeof this.logged)[0]);
      this.#log = pino({ level: 'debug' }, { write });
    });
    afterEach(async () => {
      for (const close of this.closing.splice(0).toReversed()) await close();
      await this.#publisher.close();
    });
  }

  get server() {
    return this.#harness.server;
  }

  get redis() {
    return this.#harness.redis;
  }

  get state() {
    return this.#harness.state;
  }

  /** What the bridge does without any watch: due timers, parked objects, the epoch; for these objects. */
  async startBridge(objects: readonly ObjectKey[] = [shop], longestLeaseMs = TIMES.leaseMs): Promise<void> {
    const { redis, state } = this;
    const tuning = { ...DEFAULT_TUNING, timerSweepMs: 20, parkedSweepMs: 30, epochCheckMs: 50, longestLeaseMs };
    const quiet = pino({ level: 'silent' });
    const sender = new Sender(this.#publisher, () => redis.status === 'ready' && epoch.verified, {
      tuning,
      log: quiet,
    });
    const epoch = new EpochKeeper(state, {
      longestLeaseMs,
      log: quiet,
      onChanged: () =>
        sender.sweep(
          'epoch',
          objects.map((key) => ({ key, reason: 'EpochChanged' as const, priority: 'background' as const })),
        ),
    });
    const stop = startDuties({ state, epoch, sender, resync: ignore, tuning, log: quiet });
    this.closing.push(stop, () => sender.stop());
    await eventually('there is an epoch', async () => (await state.readEpoch()).sameServer);
  }

  /** An epoch in which leases are handed out at once, without a bridge. */
  begin(): Promise<string> {
    return this.state.beginEpoch(0);
  }

  /** Workers of this process for some functions, and a record of what they did. */
  async startHost(
    handler: Handler,
    functions: readonly FunctionName[] = FUNCTION_NAMES,
    concurrency = 10,
  ): Promise<Host> {
    const seen: Seen[] = [];
    const steps: DeliveredStep[] = [];
    await Promise.all(
      functions.map(async (functionName) => {
        const worker = startWorker({
          provider: PROVIDER,
          functionName,
          state: this.state,
          publisher: this.#publisher,
          invoke: recorded(handler, functionName, seen),
          times: TIMES,
          log: this.#log,
          keys,
          concurrency,
          connection: workerConnection({ url: this.server.url }),
          jobLockMs: 1_000,
          stalledCheckMs: 200,
          onStep: (step) => steps.push(step),
        });
        this.closing.push(() => worker.close());
      }),
    );
    return { seen, steps, of: (name) => seen.filter((each) => each.functionName === name) };
  }

  publish(type: EventType = OBJECT_CHANGED, key = shop, priority: Priority = 'user'): Promise<void> {
    return this.#publisher.publish(serviceEvent(type, key, { reason: 'Changed' }), priority);
  }

  queue(name: FunctionName): Queue {
    const opened = new Queue(queueName(name), { connection: this.redis, prefix: keys.prefix });
    this.closing.push(() => opened.close());
    return opened;
  }

  /** Nothing waits anywhere, nobody holds anything. */
  async quiet(): Promise<void> {
    const queues = FUNCTION_NAMES.map((name) => this.queue(name));
    await eventually('all work is done', async (saw) => {
      const counts = await Promise.all(queues.map((each) => each.getJobCounts('waiting', 'active', 'prioritized')));
      const jobs = counts.flatMap((count) => Object.values(count)).reduce((sum, count) => sum + count, 0);
      const [parked, leases] = await Promise.all([this.redis.zcard(keys.parked), this.redis.keys(keys.lease('*'))]);
      saw({ jobs, parked, leases });
      return jobs + parked + leases.length === 0;
    });
  }

  /** When the timer of `shop` is due. */
  readonly dueIn = async (): Promise<number | undefined> => {
    const score = await this.redis.zscore(keys.timers, member);
    return score === null ? undefined : Number(score) - Date.now();
  };
}

function recorded(handler: Handler, functionName: FunctionName, seen: Seen[]): Invoke {
  return async (event, lease) => {
    const { reason, id, key } = event;
    const one: Seen = { object: formatObjectKey(key), functionName, reason, id, startedAt: performance.now() };
    seen.push(one);
    lease.renewed(ignore);
    try {
      one.outcome = await handler(event, lease, functionName);
      return one.outcome;
    } finally {
      one.endedAt = performance.now();
    }
  };
}

/** A handler that waits until the test lets it go on. */
export function gate(): { passed: Promise<void>; open: () => void } {
  let open: () => void = ignore;
  const passed = new Promise<void>((resolve) => (open = resolve));
  return { passed, open };
}

/** Most invocations of one object at the same moment. */
export function mostAtOnce(seen: readonly Seen[], of: (one: Seen) => string): number {
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
