import { afterAll, beforeAll, expect, test } from 'vitest';
import { INSTALL_REQUESTED } from '../../../shared/events/catalogue.ts';
import { done } from '../../../shared/events/outcome.ts';
import { serviceEvent } from '../../../shared/events/service-event.ts';
import { BullPublisher } from '../../../shared/queue/publisher.ts';
import { type RedisClient, senderConnection } from '../../../shared/queue/redis.ts';
import { type RedisNode, startNode } from '../../control-planes/redis-servers.ts';
import { connectRedis } from '../../support/connect-redis.ts';
import { FrozenProxy } from '../../support/frozen-proxy.ts';
import { createRunFolder } from '../../support/run-folder.ts';
import { eventually } from '../../support/wait.ts';
import { ignore, keyOf, keys } from '../redis-harness.ts';
import { Deployment, expectWholeFlow } from './harness.ts';

/** Every connection of each process, none of which hears that anything is wrong. */

const SOON = { timeout: 30_000 };
const folder = createRunFolder('redis-half-open');
let first: RedisNode;
let second: RedisNode;
let proxy: FrozenProxy;
let deployment: Deployment;

const urlOf = ({ host, port }: RedisNode): string => `redis://${host}:${port}`;

beforeAll(async () => {
  first = await startNode({ dir: `${folder.path}/first` });
  second = await startNode({ dir: `${folder.path}/second` });
  proxy = await FrozenProxy.to(urlOf(first));
  deployment = await Deployment.start({ url: `redis://127.0.0.1:${proxy.port}` }, folder.path);
});

afterAll(async () => {
  await deployment?.stop();
  proxy?.close();
  await Promise.all([first?.stop(), second?.stop()]);
  folder.remove();
});

/** Put into the queue past the proxy, so that nobody but the workers can have found their way. */
async function expectWorkersFind(name: string, node: RedisNode): Promise<void> {
  const direct: RedisClient = await connectRedis(senderConnection({ url: urlOf(node) }), ignore);
  const publisher = new BullPublisher(direct, keys, ignore);
  await publisher.publish(serviceEvent(INSTALL_REQUESTED, keyOf(name), { reason: 'Changed' }), 'user');
  // As it is, or from the start where the lease was asked for on a dead connection, and was over when it was granted.
  const call = await eventually(
    'a worker has it',
    () => deployment.calls.find(({ event }) => event.key.name === name),
    { timeout: 45_000 },
  );
  call.end(done());
  await publisher.close();
  direct.disconnect();
}

async function untilReady(): Promise<void> {
  await eventually(
    'all are ready',
    async (seen) => {
      const problems = await deployment.problems();
      seen(problems);
      return problems.flat().length === 0 && deployment.epoch.verified && !deployment.epoch.quiet;
    },
    SOON,
  );
}

test('connections that are dead are replaced', async () => {
  await expectWholeFlow(deployment);
  const dead = clientsOf(first);
  proxy.freezeOpen();
  // One for the bridge; for each of two workers one that sends, one that takes jobs and one that waits for them.
  await eventually('each is made anew', () => clientsOf(first).filter((id) => !dead.includes(id)).length === 7, SOON);
  await expectWorkersFind('half-open', first);
  await untilReady();
  await expectWholeFlow(deployment);
  expect(await deployment.problems()).toEqual([[], [], []]);
});

test('where all are dead and no new one is made, each process says so', async () => {
  proxy.freeze();
  await eventually(
    'each says so',
    async (seen) => {
      const problems = await deployment.problems();
      seen(problems);
      return problems.every((each) => each.includes('Redis is not connected'));
    },
    SOON,
  );
  proxy.thaw();
  await untilReady();
  await expectWholeFlow(deployment);
  expect(await deployment.problems()).toEqual([[], [], []]);
});

test('a master that has become a replica, and keeps its connections, is left for the one that took over', async () => {
  second.cli('REPLICAOF', first.host, String(first.port));
  await eventually('it follows', () => second.cli('INFO', 'replication').includes('master_link_status:up'));
  proxy.moveTo(urlOf(second));
  second.cli('REPLICAOF', 'NO', 'ONE');
  first.cli('REPLICAOF', second.host, String(second.port));
  await expectWorkersFind('demoted', second);
  await untilReady();
  await expectWholeFlow(deployment);
  await eventually('nobody is left behind', () => clientsOf(first).length === 0, SOON);
  expect(await deployment.problems()).toEqual([[], [], []]);
});

/** Connections of clients by their id, but for the one that asks. */
function clientsOf(node: RedisNode): string[] {
  const lines = node.cli('CLIENT', 'LIST', 'TYPE', 'normal').split('\n');
  return lines.filter((line) => !line.includes('cmd=client')).map((line) => line.split(' ')[0] ?? '');
}
