import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, inject, test } from 'vitest';
import foo, { configMapName } from '../../functions/providers/foo/provider.ts';
import { FUNCTION_NAMES } from '../../shared/events/catalogue.ts';
import { queueKeys } from '../../shared/queue/keys.ts';
import type { ServiceObject } from '../../shared/model/kubernetes.ts';
import { type RedisNode, startRedisCluster, startRedisWithTls, startWatched } from '../control-planes/redis-servers.ts';
import type { ControlPlane } from '../support/control-plane.ts';
import { callsOf, overlaps } from '../support/journal.ts';
import { leastUser, MORE_RIGHTS_ON_CLUSTER } from '../support/redis-users.ts';
import { configMapValue, requestsIn } from '../support/requests.ts';
import { Desk, type ServiceProcess, startServiceProcess } from '../support/service-process.ts';
import { createStage, PROJECT, QUICK_ENV, type Stage, type StageQueue } from '../support/stage.ts';
import { eventually } from '../support/wait.ts';

/** The whole runtime, a process for the bridge and for each function, on each kind of Redis with the least rights. */

const NAMES = Array.from({ length: 10 }, (_, index) => `o${index}`);

let stack: AsyncDisposableStack;

afterEach(() => stack.disposeAsync());

interface Flow {
  stage: Stage;
  desk: Desk;
  controlPlanes: ControlPlane[];
  each<T>(work: (name: string, controlPlane: ControlPlane) => Promise<T>): Promise<T[]>;
}

function folderOf(kind: string): string {
  stack = new AsyncDisposableStack();
  return join(inject('runFolder'), `redis-kind-${kind}`);
}

async function start(queue: StageQueue): Promise<Flow> {
  // Nothing is looked at by itself: every call has a reason.
  const stage = await createStage({ provider: foo, config: { pollInterval: '0s' }, answers: 'instant', queue });
  stack.defer(() => stage.stop());
  const desk = new Desk(stage.landscape.dir);
  const controlPlanes = await Promise.all(NAMES.map((name) => stage.landscape.createControlPlane(PROJECT, name)));
  const processes: ServiceProcess[] = [];
  stack.defer(() => Promise.all(processes.map((one) => one.stop())).then(() => undefined));
  const env = { ...stage.env, ...QUICK_ENV, ...desk.env };
  for (const args of [['bridge'], ...FUNCTION_NAMES.map((name) => ['function', name])])
    processes.push(await startServiceProcess({ args, dir: stage.landscape.dir, env }));
  return {
    stage,
    desk,
    controlPlanes,
    each: (work) => Promise.all(controlPlanes.map((one) => work(one.name, one))),
  };
}

async function expectInstalled({ stage, each }: Flow, value: string): Promise<void> {
  await each((name) => stage.orders.untilReady(name));
  const values = await each((name, { client }) => configMapValue(client, configMapName(`${PROJECT}/${name}`)));
  expect(values).toEqual(NAMES.map(() => value));
}

async function expectGone({ stage, desk, each }: Flow): Promise<void> {
  await each((name) => stage.orders.untilGone(name));
  await stage.idle();
  const left = await each((_, { platformNamespace }) =>
    requestsIn(stage.landscape.platform.client, platformNamespace, 'foo--'),
  );
  // Who grants at once leaves its Secrets.
  expect(left.flat().filter((one) => !one.startsWith('Secret/'))).toEqual([]);
  expect(overlaps(desk.journal)).toEqual([]);
  for (const name of NAMES) {
    const calls = callsOf(desk.journal, name);
    // In this order, whatever was done again after a fail-over.
    expect([...new Set(calls)]).toEqual(['install 1 one', 'install 2 two', 'delete']);
    expect(calls).toEqual(calls.toSorted((a, b) => order(a) - order(b)));
  }
}

function order(call: string): number {
  return ['install 1 one', 'install 2 two', 'delete'].indexOf(call);
}

/** @param trouble while installs of the second value run and others wait */
async function expectWholeFlow(flow: Flow, trouble?: () => Promise<void>): Promise<void> {
  const { stage, desk, each } = flow;
  const create = (name: string): Promise<ServiceObject> => stage.orders.create(name, 'one');
  await each(create);
  await expectInstalled(flow, 'one');
  const held = trouble ? NAMES.slice(0, 3) : [];
  for (const name of held) desk.hold('install', name);
  await each((name) => stage.orders.change(name, 'two'));
  if (trouble) {
    await eventually('installs run', () => held.every((name) => callsOf(desk.journal, name).includes('install 2 two')));
    await trouble();
    for (const name of held) desk.release('install', name);
  }
  await expectInstalled(flow, 'two');
  await each((name) => stage.orders.remove(name));
  await expectGone(flow);
}

function addresses(nodes: readonly RedisNode[]): string {
  return nodes.map(({ host, port }) => `${host}:${port}`).join(',');
}

function userEnv({ username, password }: ReturnType<typeof leastUser>): Record<string, string> {
  return { REDIS_USERNAME: username, REDIS_PASSWORD: password };
}

function read(file: string): string {
  return readFileSync(file, 'utf8');
}

test('TLS, with a certificate of the clients', async () => {
  const server = await startRedisWithTls(folderOf('tls'));
  stack.defer(() => server.stop());
  const user = leastUser([server], foo.name);
  const { ca, client } = server.files;
  const url = `rediss://${server.host}:${server.port}`;
  const flow = await start({
    settings: { url, ...user, ca: read(ca.cert), cert: read(client.cert), key: read(client.key) },
    env: {
      REDIS_URL: url,
      ...userEnv(user),
      REDIS_CA_FILE: ca.cert,
      REDIS_CERT_FILE: client.cert,
      REDIS_KEY_FILE: client.key,
    },
  });
  await expectWholeFlow(flow);
  // Nothing happened that would be a reason to do anything twice.
  for (const name of NAMES)
    expect(callsOf(flow.desk.journal, name).filter((call) => call.startsWith('install'))).toHaveLength(2);
});

test('a Sentinel, and the master killed while installs run', async () => {
  const servers = await startWatched(folderOf('sentinel'), 'work');
  stack.defer(() => servers.stop());
  const user = leastUser([servers.master, servers.replica], foo.name);
  const nodes = servers.sentinels.map(({ host, port }) => ({ host, port }));
  const flow = await start({
    settings: { sentinel: { nodes, master: 'work', password: 'guard' }, ...user },
    env: {
      REDIS_SENTINELS: addresses(servers.sentinels),
      REDIS_SENTINEL_MASTER: 'work',
      REDIS_SENTINEL_PASSWORD: 'guard',
      ...userEnv(user),
    },
  });
  await expectWholeFlow(flow, async () => {
    await servers.master.kill();
    await eventually('the replica is the master', () => servers.replica.cli('ROLE').startsWith('master'));
  });
  expect(Number(servers.replica.cli('DBSIZE'))).toBeGreaterThan(0);
});

test('a Cluster, and the master that holds the work killed while installs run', async () => {
  const servers = await startRedisCluster(folderOf('cluster'), { replicas: 1 });
  stack.defer(() => servers.stop());
  const user = leastUser(servers.nodes, foo.name, MORE_RIGHTS_ON_CLUSTER);
  const [first] = servers.nodes as [RedisNode];
  const flow = await start({
    settings: { cluster: [{ host: first.host, port: first.port }], ...user },
    env: { REDIS_CLUSTER_NODES: addresses(servers.nodes.slice(0, 2)), ...userEnv(user) },
  });
  const holdsWork = (node: RedisNode): boolean =>
    node.cli('ROLE').startsWith('master') && node.cli('EXISTS', queueKeys(foo.name).epoch) === '1';
  let killed: RedisNode | undefined;
  const newMaster = () => servers.nodes.find((node) => node !== killed && holdsWork(node));
  await expectWholeFlow(flow, async () => {
    const master = servers.nodes.find((node) => node.cli('ROLE').startsWith('master') && holdsWork(node)) as RedisNode;
    await master.kill();
    killed = master;
    await eventually('its replica is the master', () => newMaster() !== undefined);
  });
  expect(newMaster()?.cli('CLUSTER', 'INFO')).toMatch(/cluster_state:ok/);
});
