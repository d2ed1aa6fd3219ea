import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, inject, test } from 'vitest';
import foo from '../../functions/providers/foo/provider.ts';
import { FUNCTION_NAMES } from '../../shared/events/catalogue.ts';
import { CLUSTER_REQUESTS } from '../../shared/kube/resources.ts';
import type { KubeObjectOf } from '../../shared/model/kubernetes.ts';
import { mcpNamespace } from '../../shared/names.ts';
import { ensureNamespace } from '../support/cluster-provider/access.ts';
import { callsOf, overlaps } from '../support/journal.ts';
import { nextVersion } from '../support/other-version.ts';
import { isReady } from '../support/orders.ts';
import { requestsIn } from '../support/requests.ts';
import { Desk, ROOT, type ServiceProcess, startServiceProcess } from '../support/service-process.ts';
import { createStage, PROJECT, QUICK_ENV, type Stage } from '../support/stage.ts';
import { eventually } from '../support/wait.ts';

/** This version and the next, in which `object.changed` is v2 and v1 is unknown: harder than a release would be. */

const NAMES = Array.from({ length: 30 }, (_, index) => `u${index}`);
/** What one does not know is handed back for 10 s, and may come to it again. */
const PATIENCE = { timeout: 200_000 };
const LIMIT_MS = 400_000;

let stage: Stage;
let desk: Desk;
let next: string;
const started = new Set<ServiceProcess>();

async function start(root: string, args = ['run', '--leader-elect']): Promise<ServiceProcess> {
  const made = await startServiceProcess({
    args,
    dir: stage.landscape.dir,
    root,
    env: { ...stage.env, ...QUICK_ENV, ...desk.env },
  });
  started.add(made);
  return made;
}

async function stop(...processes: ServiceProcess[]): Promise<void> {
  await Promise.all(processes.map((one) => one.stop()));
  for (const one of processes) started.delete(one);
}

beforeAll(async () => {
  stage = await createStage({ provider: foo, answers: 'instant', config: { pollInterval: '0s' } });
  desk = new Desk(stage.landscape.dir);
  next = nextVersion(join(inject('runFolder'), 'next-version'), 'object.changed');
  const { platform, onboarding } = stage.landscape;
  await ensureNamespace(onboarding.client, PROJECT);
  for (const name of NAMES) {
    const namespace = mcpNamespace(name, PROJECT);
    await ensureNamespace(platform.client, namespace);
    const request: KubeObjectOf<{ spec: object }> = { metadata: { name, namespace }, spec: { purpose: 'mcp' } };
    await platform.client.create(CLUSTER_REQUESTS, request);
  }
});

afterEach(() => stop(...started));
afterAll(() => stage?.stop());

async function untilInstalled(names: readonly string[], value: string): Promise<void> {
  await eventually(
    `all are Ready with ${value}`,
    async (seen) => {
      const objects = await Promise.all(names.map((name) => stage.orders.read(name)));
      const left = objects.filter((object) => !object || !isReady(object) || object.status?.['foo'] !== value);
      seen({ left: left.map((object) => object?.metadata.name) });
      return left.length === 0;
    },
    PATIENCE,
  );
}

async function untilGone(names: readonly string[]): Promise<void> {
  await eventually(
    'all are gone',
    async (seen) => {
      const objects = await Promise.all(names.map((name) => stage.orders.read(name)));
      const left = objects.flatMap((object) => object?.metadata.name ?? []);
      seen({ left });
      return left.length === 0;
    },
    PATIENCE,
  );
  for (const name of names) {
    const requests = await requestsIn(stage.landscape.platform.client, mcpNamespace(name, PROJECT), 'foo--');
    expect(requests.filter((one) => !one.startsWith('Secret/'))).toEqual([]);
    expect(callsOf(desk.journal, name).at(-1)).toBe('delete');
  }
}

const all = (work: (name: string) => Promise<unknown>, names: readonly string[] = NAMES) =>
  Promise.all(names.map(work));

/** By its log. */
const handedBack = ({ logFile }: ServiceProcess): number =>
  readFileSync(logFile, 'utf8').split('event of an unknown version: handed back').length - 1;

const waiting = (): Promise<number> => stage.jobs('resolve-credentials', 'waiting', 'prioritized');

test(
  'rolled out while objects are created, changed and deleted: nothing is lost, and nothing runs twice at once',
  async () => {
    const { orders } = stage;
    const old = await start(ROOT);
    await all((name) => orders.create(name, 'one'));
    await eventually('installs run', () => desk.journal.length > 0);
    const newer = await start(next);
    await untilInstalled(NAMES, 'one');
    await all((name) => orders.change(name, 'two'));
    const [gone, kept] = [NAMES.slice(0, 10), NAMES.slice(10)];
    await all((name) => orders.remove(name), gone);
    await eventually('the newer one has met what it does not know', () => handedBack(newer) > 0);
    await stop(old);
    await eventually('it leads', () => readFileSync(newer.logFile, 'utf8').includes('"msg":"leads"'));
    // The last of the replicas of before.
    const last = await start(ROOT);
    await all((name) => orders.change(name, 'three'), kept);
    await eventually('it has met what it does not know', () => handedBack(last) > 0);
    await stop(last);
    await untilInstalled(kept, 'three');
    await untilGone(gone);
    await all((name) => orders.remove(name), kept);
    await untilGone(kept);
    await stage.idle();
    expect(overlaps(desk.journal)).toEqual([]);
  },
  LIMIT_MS,
);

test(
  'rolled back: events that the newer one left in the queue are handed back, and their objects come by the older one',
  async () => {
    const { orders } = stage;
    const newer = await start(next, ['bridge']);
    await all((name) => orders.create(name, 'one'));
    await eventually('events wait', async () => (await waiting()) === NAMES.length);
    await stop(newer);
    expect(await waiting()).toBe(NAMES.length);
    const old = await start(ROOT);
    await untilInstalled(NAMES, 'one');
    expect(handedBack(old)).toBeGreaterThanOrEqual(NAMES.length);
    await stage.idle();
    expect(overlaps(desk.journal)).toEqual([]);
  },
  LIMIT_MS,
);

test(
  'rolled back but for the bridge: events that nobody knows count as changes of their objects after a while',
  async () => {
    const { orders } = stage;
    await start(next, ['bridge']);
    for (const name of FUNCTION_NAMES) await start(ROOT, ['function', name]);
    await all((name) => orders.change(name, 'two'));
    await untilInstalled(NAMES, 'two');
    await all((name) => orders.remove(name));
    await untilGone(NAMES);
    expect(overlaps(desk.journal)).toEqual([]);
  },
  LIMIT_MS,
);
