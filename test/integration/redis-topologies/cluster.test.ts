import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Servers, startRedisCluster } from '../../control-planes/redis-servers.ts';
import { createRunFolder } from '../../support/run-folder.ts';
import { Deployment, expectWholeFlow, leastUser, MORE_RIGHTS_ON_CLUSTER, refused } from './harness.ts';

const folder = createRunFolder('redis-cluster');
let servers: Servers;
let deployment: Deployment;

beforeAll(async () => {
  servers = await startRedisCluster(folder.path);
  // One is enough: the others are asked for.
  const cluster = servers.nodes.slice(0, 1).map(({ host, port }) => ({ host, port }));
  deployment = await Deployment.start({ cluster, ...leastUser(servers.nodes, MORE_RIGHTS_ON_CLUSTER) }, folder.path);
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
  // All of one provider lies together.
  expect(sizes.filter((size) => size > 0)).toHaveLength(1);
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
