import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { INSTALL_REQUESTED, OBJECT_CHANGED } from '../../../shared/events/catalogue.ts';
import { done } from '../../../shared/events/outcome.ts';
import { type RedisNode, type Servers, startRedisCluster } from '../../control-planes/redis-servers.ts';
import { leastUser, MORE_RIGHTS_ON_CLUSTER } from '../../support/redis-users.ts';
import { createRunFolder } from '../../support/run-folder.ts';
import { eventually } from '../../support/wait.ts';
import { keyOf, PROVIDER } from '../redis-harness.ts';
import { Deployment, expectWholeFlow, refused } from './harness.ts';

const folder = createRunFolder('redis-cluster');
let servers: Servers;
let deployment: Deployment;

beforeAll(async () => {
  servers = await startRedisCluster(folder.path, { replicas: 1 });
  // Two are enough, of which one may be away: the others are asked for.
  const cluster = servers.nodes.slice(0, 2).map(({ host, port }) => ({ host, port }));
  deployment = await Deployment.start(
    { cluster, ...leastUser(servers.nodes, PROVIDER, MORE_RIGHTS_ON_CLUSTER) },
    folder.path,
  );
});

afterAll(async () => {
  await deployment?.stop();
  await servers?.stop();
  folder.remove();
});

test('works on a Redis Cluster of three masters', async () => {
  await expectWholeFlow(deployment);
  const sizes = servers.nodes.map((node) => Number(node.cli('DBSIZE')));
  for (const node of servers.nodes) expect(refused(node)).toEqual([]);
  // All of one provider lies together, on a master and its replica.
  expect(sizes.filter((size) => size > 0)).toHaveLength(2);
});

test('a single master that may drop work is found', async () => {
  const [, , last] = servers.nodes;
  last?.cli('CONFIG', 'SET', 'maxmemory-policy', 'allkeys-lru');
  await deployment.queue.admission.look();
  expect(deployment.queue.problems().join()).toMatch(/allkeys-lru/);
  last?.cli('CONFIG', 'SET', 'maxmemory-policy', 'noeviction');
  await deployment.queue.admission.look();
  expect(deployment.queue.problems()).toEqual([]);
});

test('the master of the work killed while jobs wait: its replica goes on with them, also after a long while', async () => {
  const keys = ['a', 'b', 'c', 'd'].map((name) => keyOf(name));
  deployment.objects.push(...keys);
  for (const key of keys) await deployment.publish(INSTALL_REQUESTED, key);
  const ours = () => deployment.calls.filter(({ event }) => keys.some(({ name }) => name === event.key.name));
  await eventually('two run', () => ours().length === 2);
  const { epochs } = deployment;
  const holdBack = (held: 'yes' | 'no', nodes: readonly RedisNode[]): void => {
    for (const node of nodes) node.cli('CONFIG', 'SET', 'cluster-replica-no-failover', held);
  };
  const isMaster = (node: RedisNode): boolean =>
    node.cli('ROLE').startsWith('master') && node.cli('EXISTS', deployment.queue.keys.epoch) === '1';
  const master = servers.nodes.find(isMaster) as RedisNode;
  holdBack('yes', servers.nodes);
  await master.kill();
  const left = servers.nodes.filter((node) => node !== master);
  await eventually('the Cluster serves nothing', () =>
    left.every((node) => node.cli('CLUSTER', 'INFO').includes('cluster_state:fail')),
  );
  // Until BullMQ has given up on what it waits for, and connects anew: it has to come back from that too.
  await sleep(8_000);
  expect(deployment.queue.problems()).not.toEqual([]);
  holdBack('no', left);
  await eventually('its replica is the master', () => left.some(isMaster));
  await eventually('a new epoch is begun', () => deployment.epochs === epochs + 1 && deployment.epoch.verified);
  await eventually('all is done', async (seen) => {
    for (const call of ours()) call.end(done());
    const missing = keys.filter(({ name }) => deployment.called(OBJECT_CHANGED, name).length === 0);
    const stats = await deployment.queue.stats();
    seen({ missing, stats, logged: deployment.logged().slice(-2_000) });
    if (missing.length > 0) return false;
    return stats?.jobs.every(({ waiting, active }) => waiting + active === 0) && stats.objects.parked === 0;
  });
  await expectWholeFlow(deployment);
});
