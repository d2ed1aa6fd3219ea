import { FUNCTION_NAMES } from '../../shared/events/catalogue.ts';
import {
  createFoos,
  createPlayingField,
  type MeasuredProcess,
  memoryOf,
  type PlayingField,
  prepareControlPlanes,
  startCommand,
  untilAll,
} from './playing-field.ts';

/**
 * Memory and start of each kind of process, before and after it has served a number of objects:
 * `node test/bench/processes.ts [objects]`. With `BUILT=<folder>` of the compiled code, as the image runs it.
 */
const COUNT = Number(process.argv[2] ?? 200);

interface Row {
  process: string;
  'ready after ms': number;
  'MiB at start': number;
  'MiB after': number;
  'MiB at most': number;
}

async function serve(field: PlayingField, namespace: string, processes: readonly [string, MeasuredProcess][]) {
  const names = Array.from({ length: COUNT }, (_, index) => `cp-${index}`);
  const before = processes.map(([, { pid }]) => memoryOf(pid).now);
  await prepareControlPlanes(field, namespace, names);
  const started = performance.now();
  await createFoos(field, namespace, names);
  await untilAll(field, namespace, COUNT, 'ready');
  const ms = performance.now() - started;
  const rows = processes.map(([name, { pid, readyAfterMs }], index): Row => {
    const { now, most } = memoryOf(pid);
    return {
      process: name,
      'ready after ms': Math.round(readyAfterMs),
      'MiB at start': before[index] ?? 0,
      'MiB after': now,
      'MiB at most': most,
    };
  });
  process.stdout.write(`${namespace}: ${COUNT} objects Ready in ${Math.round(ms / 100) / 10} s\n`);
  await Promise.all(processes.map(([, one]) => one.stop()));
  return rows;
}

await using field = await createPlayingField();
const rows: Row[] = [];

rows.push(...(await serve(field, 'together', [['run', await startCommand(field, ['run'])]])));

const apart: [string, MeasuredProcess][] = [['bridge', await startCommand(field, ['bridge'])]];
for (const name of FUNCTION_NAMES.slice(0, 2))
  apart.push([`function ${name}`, await startCommand(field, ['function', name])]);
rows.push(...(await serve(field, 'workers', apart)));

const served: [string, MeasuredProcess][] = [];
for (const name of FUNCTION_NAMES.slice(0, 2))
  served.push([`serve ${name}`, await startCommand(field, ['serve', name], {}, '--bind-address')]);
const to = served.map(([name, { port }]) => `${name.slice('serve '.length)}=http://127.0.0.1:${port}/`);
const sender = await startCommand(field, ['dispatch', '--to', ...to]);
const bridge = await startCommand(field, ['bridge', '--dispatched', 'true']);
rows.push(...(await serve(field, 'served', [...served, ['dispatch', sender], ['bridge', bridge]])));

console.table(rows);
