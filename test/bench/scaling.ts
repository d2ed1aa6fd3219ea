import { Queue } from 'bullmq';
import { Redis } from 'ioredis';
import foo from '../../functions/providers/foo/provider.ts';
import { queueKeys, queueName } from '../../shared/queue/keys.ts';
import { eventually } from '../support/wait.ts';
import {
  createFoos,
  createPlayingField,
  inParallel,
  type MeasuredProcess,
  prepareControlPlanes,
  startCommand,
  untilAll,
} from './playing-field.ts';
import waiting, { INSTALL_MS } from './waiting-provider.ts';

/**
 * What more processes of one function bring: `node test/bench/scaling.ts [objects]`. Each round changes all objects while
 * no install worker runs, and measures how fast so many of them, with five places each, bring them to Ready again.
 */
const COUNT = Number(process.argv[2] ?? 400);
const PLACES = 5;
const ROUNDS = [1, 4, 1, 4];
const NAMESPACE = 'scaling';
const INSTALL = 'provider-install';

await using field = await createPlayingField(waiting, 'test/bench/waiting-provider.ts');
const redis = new Redis(field.redis.url, { maxRetriesPerRequest: null });
const queue = new Queue(queueName(INSTALL), { connection: redis, prefix: queueKeys(foo.name).prefix });
await using stack = new AsyncDisposableStack();
stack.defer(() => redis.disconnect());
stack.defer(() => queue.close());

const start = async (...args: string[]): Promise<MeasuredProcess> => {
  const started = await startCommand(field, args, { CONCURRENCY: `20,${INSTALL}=${PLACES}` });
  stack.defer(() => started.stop());
  return started;
};
const installers = (count: number) => Promise.all(Array.from({ length: count }, () => start('function', INSTALL)));

await start('bridge');
await start('function', 'resolve-credentials');
const names = Array.from({ length: COUNT }, (_, index) => `cp-${index}`);
await prepareControlPlanes(field, NAMESPACE, names);
const first = await installers(2);
await createFoos(field, NAMESPACE, names);
await untilAll(field, NAMESPACE, COUNT, 'ready');
await Promise.all(first.map((each) => each.stop()));

const rows: { processes: number; 'installations a second': number; 'of what waiting alone allows': string }[] = [];
for (const [round, processes] of ROUNDS.entries()) {
  const { client } = field.landscape.onboarding;
  await inParallel(names, 20, async (name) => {
    await client.mergePatch(foo.api.type, name, { spec: { foo: `round-${round}` } }, { namespace: NAMESPACE });
  });
  await eventually(
    'all wait to be installed',
    async () => (await queue.getJobCountByTypes('waiting', 'prioritized')) >= COUNT,
  );
  const workers = await installers(processes);
  // Started: what is measured is how fast they go on, not how fast they start.
  const begun = performance.now();
  const left = await queue.getJobCountByTypes('waiting', 'prioritized', 'active');
  await eventually(
    'all are installed',
    async () => (await queue.getJobCountByTypes('waiting', 'prioritized', 'active')) === 0,
    { timeout: 120_000 },
  );
  const rate = left / ((performance.now() - begun) / 1_000);
  await untilAll(field, NAMESPACE, COUNT, 'ready');
  rows.push({
    processes,
    'installations a second': Math.round(rate * 10) / 10,
    'of what waiting alone allows': `${Math.round((rate * 100) / ((processes * PLACES * 1_000) / INSTALL_MS))} %`,
  });
  await Promise.all(workers.map((each) => each.stop()));
}
console.table(rows);
const of = (processes: number): number =>
  Math.max(...rows.filter((row) => row.processes === processes).map((row) => row['installations a second']));
process.stdout.write(`four processes do ${(of(4) / of(1)).toFixed(2)} times what one does\n`);
