import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { INSTALL_REQUESTED } from '../../../shared/events/catalogue.ts';
import { done } from '../../../shared/events/outcome.ts';
import { serviceEvent } from '../../../shared/events/service-event.ts';
import type { ObjectKey } from '../../../shared/model/object-key.ts';
import { BullPublisher } from '../../../shared/queue/publisher.ts';
import { type RedisClient, senderConnection } from '../../../shared/queue/redis.ts';
import { deniedCommands } from '../../../shared/queue/rights.ts';
import { type RedisNode, startNode } from '../../control-planes/redis-servers.ts';
import { connectRedis } from '../../support/connect-redis.ts';
import { createRunFolder } from '../../support/run-folder.ts';
import { eventually } from '../../support/wait.ts';
import { ignore, keyOf, keys, PROVIDER } from '../redis-harness.ts';
import { Deployment, expectWholeFlow } from './harness.ts';

const folder = createRunFolder('redis-refused');
/** The commands that are tried, and nothing else. */
let needed: readonly string[];
let withInfo: readonly string[];
let node: RedisNode;
let deployment: Deployment;
/** Sends without looking, as nothing of ours would. */
let careless: RedisClient;
const warned = vi.spyOn(console, 'warn');

const setUser = (...rules: string[]): string =>
  node.cli('ACL', 'SETUSER', 'exact', 'reset', 'on', '>secret', `~{service-provider:${PROVIDER}}:*`, ...rules);

/** New connections of all processes, at which each looks again. */
function reconnect(): void {
  node.cli('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
}

beforeAll(async () => {
  node = await startNode({ dir: folder.path });
  const settings = { url: `redis://exact:secret@${node.host}:${node.port}` };
  needed = (await triedCommands(settings)).map((name) => `+${name}`);
  withInfo = [...needed, '+info'];
  setUser(...needed);
  node.cli('ACL', 'LOG', 'RESET');
  deployment = await Deployment.start(settings, folder.path);
  careless = await connectRedis(senderConnection({ url: `redis://${node.host}:${node.port}` }), ignore);
});

afterEach(async () => {
  setUser(...withInfo);
  node.cli('CONFIG', 'SET', 'maxmemory-policy', 'noeviction');
  reconnect();
  const { queue, epoch } = deployment;
  // Where INFO was refused before, it looks like another server: a new epoch is begun.
  await eventually('there is an epoch of this server', async () => (await queue.state.readEpoch()).sameServer);
  await eventually('Redis is taken again', () => queue.problems().length === 0 && epoch.verified && !epoch.quiet);
});

afterAll(async () => {
  careless?.disconnect();
  await deployment?.stop();
  await node?.stop();
  folder.remove();
});

/** As they are refused to a user who may do nothing but try. */
async function triedCommands(settings: { url: string }): Promise<string[]> {
  setUser('+eval');
  const redis = await connectRedis(senderConnection(settings), ignore);
  try {
    const denied = await deniedCommands(redis, keys);
    return ['eval', ...denied.flatMap(({ command }) => command ?? [])];
  } finally {
    redis.disconnect();
  }
}

/** Of the processes that work, too: what is in the queue stays there. */
async function expectNothingIsTaken(key: ObjectKey): Promise<void> {
  const publisher = new BullPublisher(careless, keys, ignore);
  await publisher.publish(serviceEvent(INSTALL_REQUESTED, key, { reason: 'Changed' }), 'user');
  await sleep(1_000);
  expect(deployment.calls.filter(({ event }) => event.key.name === key.name)).toEqual([]);
  await publisher.close();
}

test('the commands that are tried are all that is needed: nothing else, and not INFO', async () => {
  await expectWholeFlow(deployment);
  // Where a connection says something beside the log, it is there.
  expect(warned).not.toHaveBeenCalled();
  expect(node.cli('ACL', 'LOG')).not.toMatch(
    new RegExp(`object\n(${needed.map((each) => each.slice(1)).join('|')})$`, 'm'),
  );
});

describe('while Redis is refused, nothing is taken from it and nothing put there, and then it goes on', () => {
  test('since it may drop keys', async () => {
    node.cli('CONFIG', 'SET', 'maxmemory-policy', 'volatile-ttl');
    reconnect();
    await eventually('it is said', () =>
      deployment.queue
        .problems()
        .includes('Redis has maxmemory-policy volatile-ttl and may drop work; set it to noeviction'),
    );
    const key = keyOf('evicting');
    await expect(deployment.publish(INSTALL_REQUESTED, keyOf('other'))).rejects.toThrow(/volatile-ttl/);
    await expectNothingIsTaken(key);
    node.cli('CONFIG', 'SET', 'maxmemory-policy', 'noeviction');
    reconnect();
    (await deployment.call(INSTALL_REQUESTED, key)).end(done());
  });

  test('since commands are missing, which are all named at once', async () => {
    setUser(...withInfo.filter((each) => each !== '+xadd' && each !== '+bzpopmin'));
    reconnect();
    const problem = 'Redis refuses bzpopmin, xadd: ACL SETUSER … +bzpopmin +xadd';
    await eventually('it is said', () => deployment.queue.problems().includes(problem));
    await eventually('each process says it when it is asked, and in its log', async (seen) => {
      const problems = await deployment.problems();
      seen(problems);
      return problems.every((each) => each.includes(problem)) && deployment.logged().split(problem).length > 3;
    });
    const key = keyOf('missing-commands');
    await expect(deployment.publish(INSTALL_REQUESTED, keyOf('other'))).rejects.toThrow(problem);
    await expectNothingIsTaken(key);
    setUser(...withInfo);
    reconnect();
    (await deployment.call(INSTALL_REQUESTED, key)).end(done());
  });

  test('since the keys are those of another provider', async () => {
    node.cli('ACL', 'SETUSER', 'exact', 'resetkeys', '~{service-provider:other}:*');
    reconnect();
    const problem = `Redis refuses keys of this provider: ACL SETUSER … ~${keys.prefix}:*`;
    await eventually('it is said', () => deployment.queue.problems().includes(problem));
    await expect(deployment.publish(INSTALL_REQUESTED, keyOf('other'))).rejects.toThrow(problem);
  });
});
