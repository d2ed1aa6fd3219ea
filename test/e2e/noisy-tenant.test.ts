import { setTimeout as sleep } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterAll, beforeAll, expect, test } from 'vitest';
import foo from '../../functions/providers/foo/provider.ts';
import type { RunningRuntime } from '../../deploy/command/compose.ts';
import { KcpTenants } from '../support/kcp-tenants.ts';
import { createStage, type Stage } from '../support/stage.ts';
import { eventually } from '../support/wait.ts';
import type { TenantWorkspace } from '../support/workspaces.ts';

/** A tenant who orders and changes as much as he can, with all that an object can carry; others should not notice. */
const FOOS = foo.api.type;
/** `NOISY_OBJECTS=500 NOISY_KIB=250` is the most that an API server takes, and takes it many minutes. */
const OBJECTS = Number(process.env['NOISY_OBJECTS'] ?? 100);
const ANNOTATION = 'x'.repeat(Number(process.env['NOISY_KIB'] ?? 32) * 1024);
const CHANGES_A_SECOND = 20;
const MIB = 1024 * 1024;
const GROWTH = 16 * MIB;

let stage: Stage;
let tenants: KcpTenants;
let runtime: RunningRuntime;
let noisy: TenantWorkspace;

beforeAll(async () => {
  // A line for each change would be most of the work.
  stage = await createStage({ provider: foo, kcp: true, log: 'warn' });
  tenants = new KcpTenants(stage);
  runtime = await stage.run();
  noisy = await tenants.bound('noisy');
});

afterAll(() => stage?.stop());

const nameOf = (index: number): string => `foo-${index % OBJECTS}`;

/** Bytes that are really needed. */
function needed(): number {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
  return process.memoryUsage().heapUsed;
}

interface Taken {
  tookMs: number;
  /** Of that, in which a step of its own ran: slower, when others make the API servers slow. */
  runMs: number;
  /** Steps of others that ended while none of its own ran: what went ahead of it. */
  ahead: number;
}

/** How a new order fares until it is Ready. */
async function order(name: string): Promise<Taken> {
  const workspace = await tenants.bound(name);
  const before = stage.steps.length;
  const started = performance.now();
  await tenants.orders(workspace).create(name, 'x');
  await tenants.orders(workspace).untilReady(name);
  const tookMs = performance.now() - started;
  const steps = stage.steps.slice(before);
  const own = steps.filter(({ event }) => event.key.cluster === workspace.logicalCluster);
  const ran = (at: number) => own.some(({ endedAt, durationMs }) => at <= endedAt && at >= endedAt - durationMs);
  return {
    tookMs,
    runMs: own.reduce((sum, { durationMs }) => sum + durationMs, 0),
    ahead: steps.filter((step) => !own.includes(step) && !ran(step.endedAt)).length,
  };
}

async function inParallel(count: number, width: number, task: (index: number) => Promise<unknown>): Promise<void> {
  const indexes = Array.from({ length: count }, (_, index) => index).values();
  const work = async (): Promise<void> => {
    for (const index of indexes) await task(index);
  };
  await Promise.all(Array.from({ length: width }, work));
}

test('objects full of annotations, 20 changes a second: an order of another workspace goes ahead of them', async () => {
  const alone = await order('alone');
  expect(alone.ahead).toBe(0);
  const before = needed();
  await inParallel(OBJECTS, 10, (index) =>
    eventually('it can be created', () =>
      noisy.client.create(FOOS, {
        metadata: { name: nameOf(index), namespace: 'default', annotations: { bulk: ANNOTATION } },
        spec: { foo: 'x' },
      }),
    ),
  );
  const quiet = new AbortController();
  let changes = 0;
  const noise = (async () => {
    while (!quiet.signal.aborted) {
      const name = nameOf(changes++ * 7);
      void noisy.client
        .mergePatch(FOOS, name, { spec: { foo: String(changes) } }, { namespace: 'default' })
        .catch(() => undefined);
      await sleep(1_000 / CHANGES_A_SECOND);
    }
  })();
  await sleep(3_000);
  const beside = await order('beside');
  const during = needed();
  quiet.abort();
  await noise;
  console.log(
    `alone ${Math.round(alone.tookMs)} ms, beside the noise ${Math.round(beside.tookMs)} ms, ` +
      `${Math.round(beside.runMs)} of them in its own steps (${beside.ahead} steps of others ahead, ` +
      `${changes} changes), heap +${Math.round((during - before) / MIB)} MiB`,
  );
  // Behind a backlog of all objects it would be some hundred. Each of its steps may find every place taken.
  expect(beside.ahead).toBeLessThan(OBJECTS);
  // Of what lies in the workspace next to nothing is kept; the rest is the log of this test.
  expect(during - before).toBeLessThan(GROWTH + (OBJECTS * ANNOTATION.length) / 10);

  // A start reads them all, page by page.
  await runtime.stop();
  const stopped = needed();
  runtime = await stage.run();
  await eventually('they are all known', async () => {
    const { bridge } = await runtime.stats();
    return bridge?.modes.some(({ objects }) => objects > OBJECTS);
  });
  expect(needed() - stopped).toBeLessThan(GROWTH + (OBJECTS * ANNOTATION.length) / 10);
  await order('after');
}, 600_000);
