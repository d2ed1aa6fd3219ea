import { copyFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Queue } from 'bullmq';
import { inject } from 'vitest';
import { type RunningRuntime, type RuntimeOptions, startRuntime } from '../../deploy/command/compose.ts';
import type { DeliveredStep } from '../../functions/host/deliver.ts';
import type { Provider } from '../../shared/provider/provider.ts';
import { type EventType, FUNCTION_NAMES, type FunctionName } from '../../shared/events/catalogue.ts';
import { createLogger } from '../../shared/log.ts';
import { formatObjectKey, type ObjectKey, ONBOARDING_CLUSTER } from '../../shared/model/object-key.ts';
import type { ServiceObject } from '../../shared/model/kubernetes.ts';
import { serviceEvent } from '../../shared/events/service-event.ts';
import { queueKeys, queueName } from '../../shared/queue/keys.ts';
import { BullPublisher, type Priority } from '../../shared/queue/publisher.ts';
import { openRedis, type RedisSettings, workerConnection } from '../../shared/queue/redis.ts';
import { connectKcp } from '../control-planes/kcp.ts';
import { type StartedRedis, startRedis } from '../control-planes/redis.ts';
import { type History, recordHistory } from './history.ts';
import { createLandscape, type Landscape } from './landscape.ts';
import { type Orders, ordersIn } from './orders.ts';
import { type InstallOptions, installProvider, PROVIDER_NAMESPACE } from './service.ts';
import { eventually } from './wait.ts';

/** Namespace of the tenant on the onboarding cluster. */
export const PROJECT = 'project-a';

/** Short, so that what is lost by a crash is taken over soon; long enough for a machine that is busy. */
export const QUICK = {
  leaseMs: 3_000,
  jobLockMs: 2_000,
  stalledCheckMs: 700,
  bridgeTuning: { timerSweepMs: 50, parkedSweepMs: 400, epochCheckMs: 300 },
} satisfies Partial<RuntimeOptions>;

/** The same for a process of its own. */
export const QUICK_ENV = { LEASE_DURATION: '3s', JOB_LOCK_DURATION: '2s' };

/** The bridge's line about an event that it sent. */
export interface Published {
  time: number;
  event: string;
  /** `standard/onboarding/project-a/foo` */
  object: string;
  reason: string;
}

/** A landscape with a provider in it, and a queue: all that it takes to run the provider. */
export interface Stage {
  readonly landscape: Landscape;
  /** Its own. @throws Error where the test brought another */
  readonly redis: StartedRedis;
  readonly provider: Provider;
  /** With what a process of its own finds clusters and queue. */
  readonly env: Record<string, string>;
  /** Every invocation of a function by the runtimes of this process, oldest first; `endedAt` by `performance.now()`. */
  readonly steps: readonly (DeliveredStep & { endedAt: number })[];
  readonly logFile: string;
  /** Objects on the onboarding cluster. */
  readonly orders: Orders;
  /** Starts bridge and functions in this process, unless told otherwise. */
  run(options?: Partial<RuntimeOptions>): Promise<RunningRuntime>;
  keyOf(object: ServiceObject): ObjectKey;
  /** The object's mark when it is parked, else 0. */
  parked(key: ObjectKey): Promise<number>;
  /** When the object's timer is due, in milliseconds since the epoch. */
  timer(key: ObjectKey): Promise<number | undefined>;
  jobs(functionName: FunctionName, ...states: ('active' | 'waiting' | 'prioritized')[]): Promise<number>;
  /** Sends an event to the function that it is for, with a user's priority unless told otherwise. */
  publish(type: EventType, key: ObjectKey, priority?: Priority): Promise<void>;
  /** What the bridge has sent since then (milliseconds since the epoch), by its log. */
  published(since: number): Published[];
  /** Records every change of these types until the stage stops; see `recordHistory`. */
  record(...watched: Parameters<typeof recordHistory>[0]): Promise<History>;
  /** Resolves when no job waits or runs and nothing is parked. */
  idle(): Promise<void>;
  /** Writes the queue's data to disk, and puts a copy of it aside. */
  dump(): Promise<string>;
  stop(): Promise<void>;
}

/** How a Redis is reached: as the runtime is told in this process, and a process of its own by its environment. */
export interface StageQueue {
  readonly settings: RedisSettings;
  readonly env: Record<string, string>;
}

export interface StageOptions extends InstallOptions {
  provider: Provider;
  /** Who answers requests; see `createLandscape`. */
  answers?: 'operator' | 'instant';
  /** A Redis of the test's, which it stops after the stage; default: the stage's own, of one server. */
  queue?: StageQueue;
  /** Default: everything. */
  log?: Parameters<typeof createLogger>[0];
}

export async function createStage({
  provider,
  answers,
  queue: given,
  log: level = 'trace',
  ...install
}: StageOptions): Promise<Stage> {
  await using started = new AsyncDisposableStack();
  const landscape = await createLandscape({
    kcp: connectKcp(inject('kcpKubeconfig')),
    dir: inject('runFolder'),
    ...(answers ? { answers } : {}),
  });
  started.defer(() => landscape.stop());
  const { platform, onboarding, dir } = landscape;
  await installProvider(landscape, provider, install);
  const own = given ? undefined : await startRedis({ dir: join(dir, 'redis') });
  started.defer(() => own?.stop());
  const ownRedis = (): StartedRedis => {
    if (!own) throw new Error('the Redis is of the test');
    return own;
  };
  const reached = given ?? { settings: { url: ownRedis().url }, env: { REDIS_URL: ownRedis().url } };

  const client = openRedis(workerConnection(reached.settings), () => undefined);
  started.defer(() => client.disconnect());
  const keys = queueKeys(provider.name);
  const queues = new Map(
    FUNCTION_NAMES.map((name) => {
      const queue = new Queue(queueName(name), { connection: client, prefix: keys.prefix });
      queue.on('error', () => undefined);
      return [name, queue];
    }),
  );
  const publisher = new BullPublisher(client, keys, () => undefined);
  started.defer(() => publisher.close());
  const steps: (DeliveredStep & { endedAt: number })[] = [];
  const logFile = join(dir, 'runtime.log');
  const log = createLogger(level, provider.name, logFile);
  const runtimes: RunningRuntime[] = [];
  started.defer(() => Promise.all(runtimes.map((runtime) => runtime.stop())).then(() => undefined));

  const histories: History[] = [];
  started.defer(() => histories.forEach((history) => history.stop()));

  const jobs: Stage['jobs'] = async (name, ...states) => (await queues.get(name)?.getJobCountByTypes(...states)) ?? 0;
  const busy = async (): Promise<number> => {
    const counts = FUNCTION_NAMES.map((name) => jobs(name, 'active', 'waiting', 'prioritized'));
    return (await Promise.all([...counts, client.zcard(keys.parked)])).reduce((sum, count) => sum + count, 0);
  };
  let dumps = 0;
  const running = started.move();
  return {
    landscape,
    get redis() {
      return ownRedis();
    },
    provider,
    env: {
      KUBECONFIG: platform.kubeconfigPath,
      ONBOARDING_KUBECONFIG: onboarding.kubeconfigPath,
      ...reached.env,
    },
    steps,
    logFile,
    orders: ordersIn(onboarding.client, provider.api.type, PROJECT),
    async run(options = {}) {
      const runtime = await startRuntime({
        ...QUICK,
        provider,
        platform: platform.client,
        onboarding: onboarding.client,
        redis: reached.settings,
        providerNamespace: PROVIDER_NAMESPACE,
        log,
        onStep: (step) => steps.push({ ...step, endedAt: performance.now() }),
        ...options,
      });
      let stopped: Promise<void> | undefined;
      const once = { ...runtime, stop: () => (stopped ??= runtime.stop()) };
      runtimes.push(once);
      return once;
    },
    keyOf: ({ metadata: { namespace = '', name, uid = '' } }) => ({
      provider: provider.name,
      mode: 'standard',
      cluster: ONBOARDING_CLUSTER,
      namespace,
      name,
      uid,
    }),
    parked: async (key) => Number((await client.zscore(keys.parked, formatObjectKey(key))) ?? 0),
    timer: async (key) => {
      const due = await client.zscore(keys.timers, formatObjectKey(key));
      return due === null ? undefined : Number(due);
    },
    jobs,
    publish: (type, key, priority = 'user') =>
      publisher.publish(serviceEvent(type, key, { reason: 'Published' }), priority),
    published: (since) =>
      readFileSync(logFile, 'utf8')
        .split('\n')
        .filter((line) => line.includes('"msg":"published"'))
        .map((line) => JSON.parse(line) as Published)
        .filter(({ time }) => time >= since),
    async record(...watched) {
      const history = await recordHistory(watched);
      histories.push(history);
      return history;
    },
    async idle() {
      let quiet = 0;
      await eventually('the queue is empty', async (seen) => {
        const count = await busy();
        seen(count);
        // A job that ends and the one that follows from it are not one step: looked at more than once.
        quiet = count === 0 ? quiet + 1 : 0;
        return quiet >= 10;
      });
    },
    async dump() {
      await ownRedis().command('SAVE');
      const copy = join(dir, `dump-${++dumps}.rdb`);
      copyFileSync(ownRedis().dumpFile, copy);
      return copy;
    },
    stop: () => running.disposeAsync(),
  };
}
