import { join } from 'node:path';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { done } from '../../shared/events/outcome.ts';
import { DEPLOY, documentsIn } from '../support/manifests.ts';
import { eventually } from '../support/wait.ts';
import { type QueueRig, queueRig } from './queue-rig.ts';
import { callFor, CONCURRENCY, eventOf, FUNCTION, jsonOf, newKey } from './rig.ts';

/**
 * KEDA's redis scaler asks for the type of a key and for its length (`getRedisListLength` in `pkg/scalers/redis_scaler.go`):
 * the same is asked here for the keys that our ScaledObject names.
 */
const LENGTH: Readonly<Record<string, 'llen' | 'zcard'>> = { list: 'llen', none: 'llen', zset: 'zcard' };

interface ScaledObject {
  metadata: { name: string };
  spec: { triggers: { name: string; metadata: { listName: string } }[] };
}

let rig: QueueRig;
let redis: Redis;

beforeAll(async () => {
  rig = await queueRig('worker');
  redis = new Redis(rig.redisUrl, { replyMapping: 'legacy' });
});
afterAll(async () => {
  redis?.disconnect();
  await rig?.stop();
});

const triggers = (documentsIn(join(DEPLOY, 'worker/scaling.yaml')) as unknown as ScaledObject[]).find(
  ({ metadata }) => metadata.name === `foo-${FUNCTION}`,
)?.spec.triggers;

async function measured(): Promise<Record<string, number>> {
  const lengths = (triggers ?? []).map(async ({ name, metadata: { listName } }): Promise<[string, number]> => {
    const type = await redis.type(listName);
    return [name, await redis[LENGTH[type] as 'llen' | 'zcard'](listName)];
  });
  return Object.fromEntries(await Promise.all(lengths));
}

const sum = async (): Promise<number> => Object.values(await measured()).reduce((total, one) => total + one, 0);

test('what a scaler measures goes from 0 to 1 and back, with an installation running', async () => {
  expect(triggers?.map(({ name }) => name)).toEqual(['waiting', 'prioritized', 'active']);
  expect(await sum()).toBe(0);
  const key = newKey();
  await rig.deliver(jsonOf(eventOf(key)));
  const call = await callFor(rig, key);
  // A worker is not taken away from what it does.
  expect(await measured()).toEqual({ waiting: 0, prioritized: 0, active: 1 });
  call.end(done());
  await eventually('nothing is left', async () => (await sum()) === 0);
});

test('it is the sum of what runs, what waits, and what waits behind users', async () => {
  const keys = Array.from({ length: CONCURRENCY + 2 }, () => newKey());
  for (const key of keys) await rig.deliver(jsonOf(eventOf(key)));
  await rig.deliverInBackground(eventOf(newKey()));
  await eventually('as many run as may', async () => (await measured())['active'] === CONCURRENCY);
  expect(await measured()).toEqual({ waiting: 2, prioritized: 1, active: CONCURRENCY });
  for (const { end } of rig.calls) end(done());
  await eventually('all are through', async () => {
    for (const { end } of rig.calls) end(done());
    return (await sum()) === 0;
  });
});
