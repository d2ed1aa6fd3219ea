import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import pino from 'pino';
import { expect } from 'vitest';
import { Sender } from '../../../bridge/send/sender.ts';
import { DEFAULT_TUNING } from '../../../bridge/tuning.ts';
import { startDuties } from '../../../bridge/upkeep/duties.ts';
import { EpochKeeper } from '../../../bridge/upkeep/epoch.ts';
import { openQueue, type Queue } from '../../../deploy/command/queue.ts';
import {
  type EventType,
  type FunctionName,
  INSTALL_REQUESTED,
  OBJECT_CHANGED,
} from '../../../shared/events/catalogue.ts';
import { done } from '../../../shared/events/outcome.ts';
import { serviceEvent } from '../../../shared/events/service-event.ts';
import type { ObjectKey } from '../../../shared/model/object-key.ts';
import type { RedisSettings } from '../../../shared/queue/redis-settings.ts';
import { type Call, HostProcess } from '../../contract/hosts.ts';
import type { RedisNode } from '../../control-planes/redis-servers.ts';
import { eventually } from '../../support/wait.ts';
import { keyOf, PROVIDER } from '../redis-harness.ts';

const LEASE_MS = 1_500;

/** The queue's side of a bridge here, and two functions as workers in processes of their own, on one kind of Redis. */
export class Deployment {
  readonly queue: Queue;
  readonly epoch: EpochKeeper;
  readonly calls: Call[] = [];
  /** What this bridge publishes again when Redis has lost its memory. */
  readonly objects: ObjectKey[] = [];
  /** How often that was. */
  epochs = 0;
  readonly #dir: string;
  readonly #settings: RedisSettings;
  readonly #sender: Sender;
  readonly #endDuties: () => void;
  readonly #hosts: HostProcess[] = [];

  private constructor(settings: RedisSettings, dir: string) {
    this.#dir = dir;
    this.#settings = settings;
    const log = pino({ level: 'debug', name: 'bridge' }, pino.destination({ dest: this.#logFile, sync: true }));
    this.queue = openQueue(settings, PROVIDER, log);
    const { state, publisher } = this.queue;
    this.epoch = new EpochKeeper(state, { longestLeaseMs: LEASE_MS, log, onChanged: () => this.#publishAll() });
    this.#sender = new Sender(publisher, () => state.link.connected && this.epoch.verified, {
      tuning: DEFAULT_TUNING,
      log,
    });
    this.#endDuties = startDuties({
      state,
      epoch: this.epoch,
      sender: this.#sender,
      resync: () => undefined,
      tuning: { ...DEFAULT_TUNING, parkedSweepMs: 200, epochCheckMs: 1_000 },
      log,
    });
  }

  static async start(settings: RedisSettings, dir: string): Promise<Deployment> {
    const deployment = new Deployment(settings, dir);
    await deployment.queue.ready(30_000);
    await Promise.all([deployment.#startHost('resolve-credentials'), deployment.#startHost('provider-install')]);
    await eventually('there is an epoch, and leases are granted', () => {
      return deployment.epoch.verified && !deployment.epoch.quiet;
    });
    return deployment;
  }

  publish(type: EventType, key: ObjectKey): Promise<void> {
    return this.queue.publisher.publish(serviceEvent(type, key, { reason: 'Changed' }), 'user');
  }

  /** The first call of that kind for an object, or the one after so many others. */
  call(type: EventType, { name }: ObjectKey, after = 0): Promise<Call> {
    const what = `call ${after + 1} of ${type} for ${name}`;
    const found = (seen: (what: unknown) => void): Call | undefined => {
      seen(this.logged().slice(-3_000));
      return this.called(type, name)[after];
    };
    return eventually(what, found, { timeout: 30_000 });
  }

  called(type: EventType, name: string): Call[] {
    return this.calls.filter(({ event }) => event.type === type && event.key.name === name);
  }

  /** What `/readyz` of each process would say, the bridge's first. */
  problems(): Promise<string[][]> {
    const hosts = this.#hosts.map((host) => host.problems());
    return Promise.all([Promise.resolve(this.queue.problems()), ...hosts]);
  }

  parked(): Promise<number> {
    return this.queue.redis.zcard(this.queue.keys.parked);
  }

  logged(): string {
    return readFileSync(this.#logFile, 'utf8');
  }

  async stop(): Promise<void> {
    await Promise.all(this.#hosts.map((host) => host.kill()));
    this.#endDuties();
    await this.#sender.stop();
    await this.queue.close();
  }

  #publishAll(): void {
    this.epochs += 1;
    for (const key of this.objects) this.#sender.remember({ key, reason: 'Resync', priority: 'background' });
  }

  async #startHost(functionName: FunctionName): Promise<void> {
    const order = {
      kind: 'worker',
      provider: PROVIDER,
      functionName,
      concurrency: 2,
      runLimitMs: 30_000,
      leaseMs: LEASE_MS,
      logFile: this.#logFile,
      redis: this.#settings,
    } as const;
    this.#hosts.push(await HostProcess.start(order, (call) => this.calls.push(call)));
  }

  get #logFile(): string {
    return join(this.#dir, 'deployment.log');
  }
}

/** What was asked for in vain, except for CONFIG: what it tells is seen elsewhere then. */
export function refused(node: RedisNode): string[] {
  const log = node.cli('ACL', 'LOG').matchAll(/^object\n(.*)$/gm);
  return [...log].flatMap(([, what]) => (what === undefined || what === 'config|get' ? [] : [what]));
}

let count = 0;

/** The whole of the queue: an event, a change that comes while the object is held, and the next event of the flow. */
export async function expectWholeFlow(deployment: Deployment): Promise<void> {
  const key = keyOf(`flow-${(count += 1)}`);
  await deployment.publish(INSTALL_REQUESTED, key);
  const install = await deployment.call(INSTALL_REQUESTED, key);
  await deployment.publish(OBJECT_CHANGED, key);
  await eventually('the change is parked', async () => (await deployment.parked()) === 1);
  install.end(done());
  const changed = await deployment.call(OBJECT_CHANGED, key);
  expect(changed.event.reason).toBe('Parked');
  expect(await changed.maySend()).toBe(true);
  changed.end(done(INSTALL_REQUESTED));
  (await deployment.call(INSTALL_REQUESTED, key, 1)).end(done());
  await eventually('nothing is left', async (seen) => {
    const stats = await deployment.queue.stats();
    seen(stats);
    return stats?.jobs.every(({ waiting, active }) => waiting + active === 0) && (await deployment.parked()) === 0;
  });
  expect(deployment.queue.problems()).toEqual([]);
}
