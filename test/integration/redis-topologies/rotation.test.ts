import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import pino from 'pino';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openQueue, type Queue } from '../../../deploy/command/queue.ts';
import { parseEnvironment, redisSettings } from '../../../deploy/command/settings.ts';
import { leaseTimes, startWorkers, type Workers } from '../../../deploy/command/workers.ts';
import { OBJECT_CHANGED } from '../../../shared/events/catalogue.ts';
import { done } from '../../../shared/events/outcome.ts';
import { serviceEvent } from '../../../shared/events/service-event.ts';
import { type RedisClient, senderConnection } from '../../../shared/queue/redis.ts';
import { makeCertificates, startRedisWithTls } from '../../control-planes/redis-servers.ts';
import { connectRedis } from '../../support/connect-redis.ts';
import { createRunFolder } from '../../support/run-folder.ts';
import { leastUser } from '../../support/redis-users.ts';
import { eventually } from '../../support/wait.ts';
import { ignore, keyOf, PROVIDER } from '../redis-harness.ts';

/** A process whose credentials lie in files, as those of a mounted Secret. */

const folder = createRunFolder('redis-rotation');
const mounted = (name: string): string => join(folder.path, 'mounted', name);
const log = pino({ level: 'silent' });
const worked: string[] = [];

let server: Awaited<ReturnType<typeof startRedisWithTls>>;
/** Stays connected through all of it. */
let admin: RedisClient;
let queue: Queue;
let workers: Workers;

function mount({ ca, client }: ReturnType<typeof makeCertificates>): void {
  copyFileSync(ca.cert, mounted('ca.crt'));
  copyFileSync(client.cert, mounted('tls.crt'));
  copyFileSync(client.key, mounted('tls.key'));
}

beforeAll(async () => {
  server = await startRedisWithTls(folder.path);
  mkdirSync(join(folder.path, 'mounted'));
  mount(server.files);
  writeFileSync(mounted('password'), leastUser([server], PROVIDER).password);
  const url = `rediss://${server.host}:${server.port}`;
  const tls = {
    REDIS_CA_FILE: mounted('ca.crt'),
    REDIS_CERT_FILE: mounted('tls.crt'),
    REDIS_KEY_FILE: mounted('tls.key'),
  };
  const common = { REDIS_URL: url, ...tls };
  admin = await connectRedis(senderConnection(redisSettings(parseEnvironment(common))), ignore);
  const env = { ...common, REDIS_USERNAME: 'least', REDIS_PASSWORD_FILE: mounted('password') };
  const redis = redisSettings(parseEnvironment(env));
  queue = openQueue(redis, PROVIDER, log);
  await queue.ready(30_000);
  await queue.state.beginEpoch(0);
  const options = { provider: PROVIDER, functions: ['resolve-credentials'] as const, redis, log };
  const invoke = () => (event: { key: { name: string } }) => {
    worked.push(event.key.name);
    return Promise.resolve(done());
  };
  workers = startWorkers(queue, leaseTimes(3_000), options, invoke, ignore);
});

afterAll(async () => {
  await workers?.stop();
  await queue?.close();
  admin?.disconnect();
  await server?.stop();
  folder.remove();
});

async function expectItWorks(name: string): Promise<void> {
  await queue.publisher.publish(serviceEvent(OBJECT_CHANGED, keyOf(name), { reason: 'Changed' }), 'user');
  await eventually('it is worked on', () => worked.includes(name), { timeout: 30_000 });
  expect(queue.problems()).toEqual([]);
}

/** Every connection of the process is made anew. */
async function expectItComesBack(name: string): Promise<void> {
  await eventually('it is connected again', () => queue.problems().length === 0, { timeout: 30_000 });
  await expectItWorks(name);
}

const cutAll = (): Promise<unknown> => admin.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');

test('a new password is taken from its file, and until it is there the process says why it is not ready', async () => {
  await expectItWorks('before');
  await admin.call('ACL', 'SETUSER', 'least', 'resetpass', '>next');
  await cutAll();
  await eventually('it says so', () => queue.problems().includes('Redis is not connected'));
  writeFileSync(mounted('password'), 'next\n');
  await expectItComesBack('next-password');
  expect(worked).toEqual(['before', 'next-password']);
});

test('so are new certificates, of another authority', async () => {
  mkdirSync(join(folder.path, 'other'));
  const other = makeCertificates(join(folder.path, 'other'));
  const { ca, server: own } = other;
  const files = ['tls-cert-file', own.cert, 'tls-key-file', own.key, 'tls-ca-cert-file', ca.cert];
  expect(await admin.call('CONFIG', 'SET', ...files)).toBe('OK');
  await cutAll();
  await eventually('it says so', () => queue.problems().includes('Redis is not connected'));
  mount(other);
  await expectItComesBack('next-certificate');
  expect(worked.at(-1)).toBe('next-certificate');
});
