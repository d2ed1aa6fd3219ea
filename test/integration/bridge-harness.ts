import { randomBytes } from 'node:crypto';
import { type ConnectionOptions, type Job, Worker } from 'bullmq';
import pino, { type Logger } from 'pino';
import { type Bridge, type BridgeOptions, startBridge } from '../../bridge/bridge.ts';
import { type BridgeTuning, DEFAULT_WATCH_TUNING } from '../../bridge/tuning.ts';
import { foo } from '../../functions/providers/foo/provider.ts';
import { parseServiceEvent, type ServiceEvent } from '../../shared/events/service-event.ts';
import type { HttpKubeClient } from '../../shared/kube/client.ts';
import type { KubeClient } from '../../shared/kube/ports.ts';
import type { KubeObject, ServiceObject } from '../../shared/model/kubernetes.ts';
import { DeliveryState } from '../../shared/queue/delivery-state.ts';
import { queueKeys, queueName } from '../../shared/queue/keys.ts';
import { BullPublisher } from '../../shared/queue/publisher.ts';
import { type RedisClient, senderConnection, workerConnection } from '../../shared/queue/redis.ts';
import type { Kcp } from '../control-planes/kcp.ts';
import { type StartedRedis, startRedis } from '../control-planes/redis.ts';
import { connectRedis } from '../support/connect-redis.ts';
import { installCrds, openmcpCrds } from '../support/crds.ts';
import { eventually } from '../support/wait.ts';
import { createWorkspace, type TenantWorkspace } from '../support/workspaces.ts';

/** Of all Foos. */
export const NAMESPACE = 'default';
const KEYS = queueKeys(foo.name);

/** What a function's worker would get, in the order in which it gets it. */
export class Receiver {
  readonly events: ServiceEvent[] = [];
  readonly #worker: Worker;

  constructor({ url }: StartedRedis) {
    this.#worker = new Worker(
      queueName('resolve-credentials'),
      async (job: Job) => {
        const event = parseServiceEvent(job.data);
        if ('type' in event) this.events.push(event);
      },
      { connection: workerConnection({ url }) as ConnectionOptions, prefix: KEYS.prefix, concurrency: 10 },
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
  readonly redis: RedisClient;
  readonly log: Logger;
  /** Whether it has logged a line with that value in that field, for which `further` is true. */
  logged(field: string, value: string, further?: (line: Record<string, unknown>) => boolean): boolean;
  stop(): Promise<void>;
}

/** The real bridge as a process composes it, with short times. */
export async function runBridge(
  server: StartedRedis,
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
    logged: (field, value, further = () => true) => lines.some((line) => line[field] === value && further(line)),
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

/** A running bridge, its Redis, and who receives its events. */
export interface Rig {
  readonly redis: StartedRedis;
  readonly receiver: Receiver;
  readonly running: RunningBridge;
  stop(): Promise<void>;
}

/** Installs the types, starts all of it and waits until the bridge is ready. */
export async function startRig(
  dir: string,
  clusters: { platform: HttpKubeClient; onboarding: HttpKubeClient },
  tuning?: Partial<BridgeTuning>,
): Promise<Rig> {
  await using started = new AsyncDisposableStack();
  const [redis] = await Promise.all([
    startRedis({ dir }),
    installCrds(clusters.platform, [...openmcpCrds('clusters.'), foo.config.crd() as KubeObject]),
    installCrds(clusters.onboarding, [foo.api.crd() as KubeObject]),
  ]);
  started.defer(() => redis.stop());
  const receiver = new Receiver(redis);
  started.defer(() => receiver.close());
  const running = await runBridge(redis, clusters, tuning);
  started.defer(() => running.stop());
  await becomesReady(running);
  const all = started.move();
  return { redis, receiver, running, stop: () => all.disposeAsync() };
}

/** Creates workspaces below a new one of that name. */
export async function workspacesBelow(kcp: Kcp, name: string): Promise<(child: string) => Promise<TenantWorkspace>> {
  const parent = await createWorkspace(kcp.admin, 'root', `${name}-${randomBytes(4).toString('hex')}`);
  return (child) => createWorkspace(kcp.admin, parent.path, child);
}

export function createFoo(client: KubeClient, name: string, metadata: object = {}): Promise<ServiceObject> {
  return client.create<ServiceObject>(foo.api.type, {
    metadata: { name, namespace: NAMESPACE, ...metadata },
    spec: { foo: '1' },
  });
}
