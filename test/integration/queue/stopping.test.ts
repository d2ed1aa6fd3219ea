import { writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { createServer, type Server, type Socket } from 'node:net';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { OBJECT_CHANGED } from '../../../shared/events/catalogue.ts';
import { serviceEvent, toCloudEvent } from '../../../shared/events/service-event.ts';
import { queueKeys } from '../../../shared/queue/keys.ts';
import { BullPublisher } from '../../../shared/queue/publisher.ts';
import { senderConnection } from '../../../shared/queue/redis.ts';
import { freePort } from '../../control-planes/ports.ts';
import { type ManagedProcess, startProcess } from '../../control-planes/processes.ts';
import { answersOk } from '../../control-planes/readiness.ts';
import { type StartedRedis, startRedis } from '../../control-planes/redis.ts';
import { connectRedis } from '../../support/connect-redis.ts';
import { createRunFolder } from '../../support/run-folder.ts';
import { COMMAND, FOO_MODULE, ROOT } from '../../support/service-process.ts';
import { eventually } from '../../support/wait.ts';
import { ignore, keyOf } from '../redis-harness.ts';

/** Commands in processes of their own, each of another provider, with what they need away in some way. */

/** Kubernetes ends a process by force after 30 s; a preStop hook and the node take some of that. */
const IN_TIME = { timeout: 20_000 };
const folder = createRunFolder('stopping');
let redis: StartedRedis;
let frozen: Frozen;
let started: ManagedProcess[];

/** An API server that hangs: it takes connections and never answers. */
class Frozen {
  readonly #sockets = new Set<Socket>();
  readonly #server: Server = createServer((socket) => {
    this.#sockets.add(socket.on('error', ignore));
    socket.on('close', () => this.#sockets.delete(socket)).resume();
  });

  async listen(): Promise<this> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return this;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  get asked(): number {
    return this.#sockets.size;
  }

  close(): void {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
  }
}

beforeEach(async () => {
  started = [];
  redis = await startRedis({ dir: folder.path });
  frozen = await new Frozen().listen();
});

afterEach(async () => {
  redis.signal('SIGCONT');
  await Promise.all(started.map((one) => one.kill()));
  frozen.close();
  await redis.stop();
});

function kubeconfig(server: string): string {
  const file = join(folder.path, 'kubeconfig');
  const named = { clusters: [{ name: 'x', cluster: { server } }], users: [{ name: 'x', user: {} }] };
  const contexts = [{ name: 'x', context: { cluster: 'x', user: 'x' } }];
  writeFileSync(file, JSON.stringify({ apiVersion: 'v1', kind: 'Config', 'current-context': 'x', contexts, ...named }));
  return file;
}

interface Started {
  readonly process: ManagedProcess;
  readonly provider: string;
  readonly port: number;
  readonly metricsPort: number;
}

async function start(args: readonly string[], api: string): Promise<Started> {
  const provider = `p${started.length}-${args[0]}`;
  const [port, metricsPort] = [await freePort(), await freePort()];
  const bind =
    args[0] === 'serve'
      ? ['--bind-address', `127.0.0.1:${port}`]
      : ['--health-probe-bind-address', `127.0.0.1:${port}`];
  const metrics = ['serve', 'dispatch'].includes(args[0] ?? '')
    ? []
    : ['--metrics-bind-address', `127.0.0.1:${metricsPort}`];
  const file = kubeconfig(api);
  const process = await startProcess({
    name: args.join(' '),
    command: globalThis.process.execPath,
    args: [COMMAND, ...args, '--provider', FOO_MODULE, '--provider-name', provider, ...bind, ...metrics],
    logFile: join(folder.path, `${provider}.log`),
    cwd: ROOT,
    env: { KUBECONFIG: file, ONBOARDING_KUBECONFIG: file, REDIS_URL: redis.url },
    ready: () => answersOk(`http://127.0.0.1:${port}/healthz`),
  });
  started.push(process);
  return { process, provider, port, metricsPort };
}

/** An object to work on, for whoever takes from a queue. */
async function publishTo(providers: readonly string[]): Promise<void> {
  const connection = await connectRedis(senderConnection({ url: redis.url }), ignore);
  for (const provider of providers) {
    const publisher = new BullPublisher(connection, queueKeys(provider), ignore);
    const key = keyOf('shop', { provider });
    await publisher.publish(serviceEvent(OBJECT_CHANGED, key, { reason: 'Changed' }), 'user');
    await publisher.close();
  }
  connection.disconnect();
}

/** Who asks waits until the platform cluster has said whether he may. */
function scrape(port: number): void {
  const headers = { authorization: 'Bearer somebody' };
  request({ host: '127.0.0.1', port, path: '/metrics', headers, rejectUnauthorized: false }).on('error', ignore).end();
}

/** @returns how those ended that did so with another code than 0 */
async function endInTime(processes: readonly Started[]): Promise<string[]> {
  for (const { process } of processes) globalThis.process.kill(process.pid, 'SIGTERM');
  await eventually(
    'all have ended',
    (seen) => {
      const left = processes.filter(({ process }) => process.running).map(({ process }) => process.name);
      seen(left);
      return left.length === 0;
    },
    IN_TIME,
  );
  return processes.flatMap(({ process }) => (process.exitCode === 0 ? [] : `${process.name}: ${process.exitCode}`));
}

const QUEUE_USERS = [
  ['run'],
  ['run', '--leader-elect'],
  ['bridge'],
  ['bridge', '--leader-elect'],
  ['function', 'resolve-credentials'],
];

describe('a process that is told to end does so in time', () => {
  test('while the API servers hang, in the middle of an invocation and of being asked for metrics', async () => {
    const all = await Promise.all(QUEUE_USERS.map((args) => start(args, frozen.url)));
    const server = await start(['serve', 'resolve-credentials'], frozen.url);
    const dispatcher = await start(['dispatch', '--to', `resolve-credentials=${frozen.url}`], frozen.url);
    await publishTo([...all, dispatcher].map(({ provider }) => provider));
    const event = toCloudEvent(
      serviceEvent(OBJECT_CHANGED, keyOf('shop', { provider: server.provider }), { reason: 'Changed' }),
    ).toJSON();
    void fetch(`http://127.0.0.1:${server.port}/`, {
      method: 'POST',
      headers: { 'content-type': 'application/cloudevents+json; charset=utf-8' },
      body: JSON.stringify(event),
    }).catch(ignore);
    const asked = frozen.asked;
    for (const { metricsPort } of all) scrape(metricsPort);
    await eventually('the API servers are asked', () => frozen.asked >= asked + all.length);
    expect(await endInTime([...all, server, dispatcher])).toEqual([]);
  });

  test.each([
    ['hangs', () => Promise.resolve(redis.signal('SIGSTOP'))],
    ['is away', () => redis.kill()],
  ])('while Redis %s, and an API server does', async (_how, trouble) => {
    const all = await Promise.all(QUEUE_USERS.map((args) => start(args, frozen.url)));
    const dispatcher = await start(['dispatch', '--to', `resolve-credentials=${frozen.url}`], frozen.url);
    await publishTo([...all, dispatcher].map(({ provider }) => provider));
    await trouble();
    for (const { metricsPort } of all) scrape(metricsPort);
    expect(await endInTime([...all, dispatcher])).toEqual([]);
  });
});
