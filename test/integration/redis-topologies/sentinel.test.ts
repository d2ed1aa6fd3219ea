import { afterAll, beforeAll, expect, test } from 'vitest';
import { INSTALL_REQUESTED, OBJECT_CHANGED } from '../../../shared/events/catalogue.ts';
import { again, done } from '../../../shared/events/outcome.ts';
import { startWatched, type Watched } from '../../control-planes/redis-servers.ts';
import { createRunFolder } from '../../support/run-folder.ts';
import { leastUser } from '../../support/redis-users.ts';
import { eventually } from '../../support/wait.ts';
import { keyOf, PROVIDER } from '../redis-harness.ts';
import { Deployment, expectWholeFlow, refused } from './harness.ts';

const folder = createRunFolder('redis-sentinel');
let servers: Watched;
let deployment: Deployment;

beforeAll(async () => {
  servers = await startWatched(folder.path, 'work');
  const nodes = servers.sentinels.map(({ host, port }) => ({ host, port }));
  const sentinel = { nodes, master: 'work', password: 'guard' };
  const user = leastUser([servers.master, servers.replica], PROVIDER);
  deployment = await Deployment.start({ sentinel, ...user }, folder.path);
});

afterAll(async () => {
  await deployment?.stop();
  await servers?.stop();
  folder.remove();
});

test('the master is found by Sentinel', async () => {
  await expectWholeFlow(deployment);
  expect(refused(servers.master)).toEqual([]);
});

test('a fail-over while jobs wait loses none, and begins a new epoch', async () => {
  // Two run, and fill the worker; two wait, one with a change that is parked.
  const keys = ['a', 'b', 'c', 'd'].map((name) => keyOf(name));
  deployment.objects.push(...keys);
  for (const key of keys) await deployment.publish(INSTALL_REQUESTED, key);
  const running = await eventually('two run', () => {
    const calls = deployment.calls.filter(({ event }) => keys.some(({ name }) => name === event.key.name));
    return calls.length === 2 && calls;
  });
  const [first] = running.map(({ event }) => event.key);
  await deployment.publish(OBJECT_CHANGED, first as (typeof keys)[0]);
  await eventually('the change is parked, and the replica knows', () => {
    return servers.replica.cli('ZCARD', deployment.queue.keys.parked) === '1';
  });
  // Not among those that are published again: its timer alone brings it back.
  const later = keyOf('later');
  await deployment.publish(OBJECT_CHANGED, later);
  (await deployment.call(OBJECT_CHANGED, later)).end(again(6_000, 'polled'));
  await eventually('the replica knows of the timer', () => {
    return servers.replica.cli('ZCARD', deployment.queue.keys.timers) === '1';
  });
  const { epochs } = deployment;

  await servers.master.kill();
  await eventually('the replica is the master', () => servers.replica.cli('ROLE').startsWith('master'));
  await eventually(
    'the bridge has begun a new epoch',
    () => deployment.epochs === epochs + 1 && deployment.epoch.verified,
  );
  for (const { event, maySend } of running) {
    await eventually('what ran is begun anew', () => {
      for (const call of deployment.calls) if (!running.includes(call)) call.end(done());
      return deployment.called(OBJECT_CHANGED, event.key.name).length > 0;
    });
    // By then who had the object before can do nothing more.
    expect(await maySend()).toBe(false);
  }
  // Each is looked at from the start: what ran, what waited and what was parked.
  await eventually('all is done', async (seen) => {
    // What ran may run again, and comes twice.
    for (const call of deployment.calls) call.end(done());
    const missing = keys.filter(({ name }) => deployment.called(OBJECT_CHANGED, name).length === 0);
    const stats = await deployment.queue.stats();
    seen({ missing, stats });
    if (missing.length > 0) return false;
    return stats?.jobs.every(({ waiting, active }) => waiting + active === 0) && stats.objects.parked === 0;
  });
  const timed = await deployment.call(OBJECT_CHANGED, later, 1);
  expect(timed.event.reason).toBe('Timer');
  timed.end(done());
  await expectWholeFlow(deployment);
  expect(refused(servers.replica)).toEqual([]);
});
