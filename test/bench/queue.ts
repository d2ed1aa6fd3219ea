import { join } from 'node:path';
import pino from 'pino';
import { startWorker } from '../../functions/host/worker.ts';
import { INSTALL_REQUESTED } from '../../shared/events/catalogue.ts';
import { done } from '../../shared/events/outcome.ts';
import { serviceEvent } from '../../shared/events/service-event.ts';
import { DeliveryState } from '../../shared/queue/delivery-state.ts';
import { queueKeys } from '../../shared/queue/keys.ts';
import { BullPublisher } from '../../shared/queue/publisher.ts';
import { senderConnection, workerConnection } from '../../shared/queue/redis.ts';
import { LEASE_MARGIN_MS, LEASE_MS, LEASE_RENEWAL_MS } from '../../shared/tuning.ts';
import { startRedis } from '../control-planes/redis.ts';
import { connectRedis } from '../support/connect-redis.ts';
import { createRunFolder } from '../support/run-folder.ts';
import { eventually } from '../support/wait.ts';
import { inParallel } from './playing-field.ts';

/**
 * How far one Redis goes: `node test/bench/queue.ts [events]`. Functions that do nothing, so that what is left is the queue.
 * Redis uses one core: what an event costs it in CPU says how many it can take, whatever the machine of the workers.
 */
const COUNT = Number(process.argv[2] ?? 20_000);
const PROVIDER = 'bench';
const keys = queueKeys(PROVIDER);
const log = pino({ level: 'silent' });
const key = (index: number) => ({
  provider: PROVIDER,
  mode: 'standard' as const,
  cluster: 'onboarding',
  namespace: `project-${index % 100}`,
  name: `object-${index}`,
  uid: `uid-${index}`,
});

const folder = createRunFolder('service-provider-runtime-bench');
await using stack = new AsyncDisposableStack();
stack.defer(() => folder.remove());
const server = await startRedis({ dir: join(folder.path, 'redis') });
stack.defer(() => server.stop());
const redis = await connectRedis(senderConnection({ url: server.url }), () => undefined);
stack.defer(() => redis.disconnect());
const state = new DeliveryState(redis, keys);
await state.beginEpoch(0);
const publisher = new BullPublisher(redis, keys, () => undefined);
stack.defer(() => publisher.close());

async function info(field: string): Promise<number> {
  const text = await redis.info();
  return Number(new RegExp(`^${field}:([\\d.]+)`, 'm').exec(text)?.[1] ?? Number.NaN);
}
const cpuMs = async (): Promise<number> => ((await info('used_cpu_user')) + (await info('used_cpu_sys'))) * 1_000;

const rows: Record<string, string | number>[] = [];
async function measured(what: string, count: number, work: () => Promise<void>): Promise<void> {
  const [cpu, commands, started] = [await cpuMs(), await info('total_commands_processed'), performance.now()];
  await work();
  const seconds = (performance.now() - started) / 1_000;
  const spent = (await cpuMs()) - cpu;
  rows.push({
    what,
    events: count,
    'here a second': Math.round(count / seconds),
    'Redis CPU µs each': Math.round((spent * 1_000) / count),
    'so one Redis does a second': Math.round(count / (spent / 1_000)),
    'commands each': Math.round(((await info('total_commands_processed')) - commands) / count),
  });
}

const indexes = Array.from({ length: COUNT }, (_, index) => index);
const before = await info('used_memory');
await measured('published', COUNT, () =>
  inParallel(indexes, 50, (index) =>
    publisher.publish(serviceEvent(INSTALL_REQUESTED, key(index), { reason: 'NextStep' }), 'user'),
  ),
);
const waiting = ((await info('used_memory')) - before) / COUNT;
await measured('published again while it waits', COUNT, () =>
  inParallel(indexes, 50, (index) =>
    publisher.publish(serviceEvent(INSTALL_REQUESTED, key(index), { reason: 'NextStep' }), 'user'),
  ),
);
let ended = 0;
await measured('taken, held, done, settled', COUNT, async () => {
  const worker = startWorker({
    provider: PROVIDER,
    functionName: 'provider-install',
    state,
    publisher,
    invoke: () => Promise.resolve(done()),
    times: { leaseMs: LEASE_MS, renewalMs: LEASE_RENEWAL_MS, marginMs: LEASE_MARGIN_MS },
    log,
    keys,
    connection: workerConnection({ url: server.url }),
    concurrency: 50,
    onStep: () => void (ended += 1),
  });
  stack.defer(() => worker.close());
  await eventually('all are through', () => ended >= COUNT, { timeout: 600_000 });
});
console.table(rows);
process.stdout.write(`an event that waits takes ${Math.round(waiting)} bytes of Redis' memory\n`);
