import { join } from 'node:path';
import { type ConnectionOptions, type Job, Worker } from 'bullmq';
import type { Redis } from 'ioredis';
import pino, { type Logger } from 'pino';
import { type Bridge, type BridgeOptions, startBridge } from '../../bridge/bridge.ts';
import { type BridgeTuning, DEFAULT_WATCH_TUNING } from '../../bridge/tuning.ts';
import { foo } from '../../functions/providers/foo/provider.ts';
import { parseServiceEvent, type ServiceEvent } from '../../shared/events/service-event.ts';
import { DeliveryState } from '../../shared/queue/delivery-state.ts';
import { queueKeys, queueName } from '../../shared/queue/keys.ts';
import { BullPublisher } from '../../shared/queue/publisher.ts';
import { senderConnection, workerConnection } from '../../shared/queue/redis.ts';
import { connectRedis } from '../support/connect-redis.ts';
import { freePort } from '../control-planes/ports.ts';
import { type ManagedProcess, startProcess } from '../control-planes/processes.ts';
import { eventually } from '../support/wait.ts';

const KEYS = queueKeys(foo.name);

export interface RedisServer {
  readonly url: string;
  readonly process: ManagedProcess;
  /** Another, empty server at the same address. */
  restart(): Promise<RedisServer>;
}

/** A Redis without a disk: after a restart it is empty. */
export async function startRedis(dir: string, port?: number): Promise<RedisServer> {
  const chosen = port ?? (await freePort());
  const url = `redis://127.0.0.1:${chosen}`;
  const process = await startProcess({
    name: 'redis',
    command: 'redis-server',
    args: ['--port', String(chosen), '--save', '', '--appendonly', 'no', '--bind', '127.0.0.1'],
    logFile: join(dir, 'redis.log'),
    ready: async () => {
      const redis = await connectRedis(
        { ...senderConnection({ url }), retryStrategy: () => undefined },
        () => undefined,
      );
      redis.disconnect();
      return true;
    },
  });
  return { url, process, restart: () => startRedis(dir, chosen) };
}

/** What a function's worker would get, in the order in which it gets it. */
export class Receiver {
  readonly events: ServiceEvent[] = [];
  readonly #worker: Worker;

  constructor(redis: RedisServer) {
    this.#worker = new Worker(
      queueName('resolve-credentials'),
      async (job: Job) => {
        const event = parseServiceEvent(job.data);
        if ('type' in event) this.events.push(event);
      },
      { connection: workerConnection({ url: redis.url }) as ConnectionOptions, prefix: KEYS.prefix, concurrency: 10 },
    );
    this.#worker.on('error', () => undefined);
  }

  /** Waits for an event of that object and reason that came after `since` others. */
  next(name: string, reason: string, since = 0): Promise<ServiceEvent> {
    return eventually(`event ${reason} of ${name}`, (seen) => {
      const events = this.events.slice(since);
      seen(events.map(({ key, reason }) => `${key.name} ${reason}`));
      return events.find((event) => event.key.name === name && event.reason === reason);
    });
  }

  of(name: string): string[] {
    return this.events.filter(({ key }) => key.name === name).map(({ reason }) => reason);
  }

  close(): Promise<void> {
    return this.#worker.close();
  }
}

export interface RunningBridge {
  readonly bridge: Bridge;
  readonly state: DeliveryState;
  readonly redis: Redis;
  readonly log: Logger;
  /** The lines of its log. */
  readonly lines: Record<string, unknown>[];
  stop(): Promise<void>;
}

/** The real bridge as a process composes it, with short times. */
export async function runBridge(
  server: RedisServer,
  options: Pick<BridgeOptions, 'platform' | 'onboarding'>,
  tuning: Partial<BridgeTuning> = {},
): Promise<RunningBridge> {
  const lines: Record<string, unknown>[] = [];
  const log = pino({ level: 'debug' }, { write: (line: string) => void lines.push(JSON.parse(line) as never) });
  const redis = await connectRedis(senderConnection({ url: server.url }), () => undefined);
  const publisher = new BullPublisher(redis, KEYS, () => undefined);
  const state = new DeliveryState(redis, KEYS);
  const bridge = await startBridge({
    ...options,
    provider: foo,
    providerNamespace: 'service-provider',
    redis,
    publisher,
    state,
    log,
    tuning: {
      longestLeaseMs: 50,
      epochCheckMs: 200,
      watch: { ...DEFAULT_WATCH_TUNING, backoffLimitMs: 2_000 },
      ...tuning,
    },
  });
  return {
    bridge,
    state,
    redis,
    log,
    lines,
    async stop() {
      await bridge.stop();
      await publisher.close();
      redis.disconnect();
    },
  };
}

export function becomesReady({ bridge }: RunningBridge): Promise<boolean> {
  return eventually('the bridge is ready', (seen) => {
    const problems = bridge.ready();
    seen(problems);
    return problems.length === 0;
  }).then(() => true);
}
