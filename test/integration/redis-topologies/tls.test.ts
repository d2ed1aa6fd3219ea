import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openRedis, senderConnection } from '../../../shared/queue/redis.ts';
import type { RedisSettings } from '../../../shared/queue/redis-settings.ts';
import { startRedisWithTls } from '../../control-planes/redis-servers.ts';
import { createRunFolder } from '../../support/run-folder.ts';
import { leastUser } from '../../support/redis-users.ts';
import { eventually } from '../../support/wait.ts';
import { PROVIDER } from '../redis-harness.ts';
import { Deployment, expectWholeFlow, refused } from './harness.ts';

const folder = createRunFolder('redis-tls');
let server: Awaited<ReturnType<typeof startRedisWithTls>>;
let deployment: Deployment;
let settings: RedisSettings;

beforeAll(async () => {
  server = await startRedisWithTls(folder.path);
  const { ca, client } = server.files;
  settings = {
    url: `rediss://${server.host}:${server.port}`,
    ...leastUser([server], PROVIDER),
    ca: readFileSync(ca.cert, 'utf8'),
    cert: readFileSync(client.cert, 'utf8'),
    key: readFileSync(client.key, 'utf8'),
  };
  deployment = await Deployment.start(settings, folder.path);
});

afterAll(async () => {
  await deployment?.stop();
  await server?.stop();
  folder.remove();
});

test('works with a certificate of its own and the least rights', async () => {
  await expectWholeFlow(deployment);
  expect(refused(server)).toEqual([]);
});

test('where CONFIG is refused, INFO tells that work may be dropped', async () => {
  server.cli('CONFIG', 'SET', 'maxmemory-policy', 'volatile-lru');
  await deployment.queue.admission.look();
  expect(deployment.queue.problems().join()).toMatch(/volatile-lru/);
  server.cli('CONFIG', 'SET', 'maxmemory-policy', 'noeviction');
  await deployment.queue.admission.look();
  expect(deployment.queue.problems()).toEqual([]);
});

test('those rights reach no other provider', async () => {
  const { redis } = deployment.queue;
  for (const call of [
    redis.set('{service-provider:other}:epoch', '1'),
    redis.flushall(),
    redis.keys('*'),
    redis.scan('0'),
    redis.eval("return redis.call('HGET', KEYS[1], 'id')", 1, '{service-provider:other}:epoch'),
  ])
    await expect(call).rejects.toThrow(/NOPERM|permission|ACL/i);
});

test('no certificate, no connection', async () => {
  const errors: string[] = [];
  const { cert: _cert, key: _key, ...without } = settings;
  const redis = openRedis(senderConnection(without), (error) => errors.push(error.message));
  await eventually('it is refused', () => errors.length > 0);
  expect(redis.status).not.toBe('ready');
  redis.disconnect();
});
