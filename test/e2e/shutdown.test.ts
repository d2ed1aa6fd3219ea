import { afterAll, beforeAll, expect, test } from 'vitest';
import foo from '../../functions/providers/foo/provider.ts';
import { CLUSTER_REQUESTS } from '../../shared/kube/resources.ts';
import type { KubeObject, ServiceObject } from '../../shared/model/kubernetes.ts';
import { mcpNamespace } from '../../shared/names.ts';
import { ensureNamespace } from '../support/cluster-provider/access.ts';
import { callsOf, overlaps } from '../support/journal.ts';
import { isReady } from '../support/orders.ts';
import { Desk, type ServiceProcess, startServiceProcess } from '../support/service-process.ts';
import { createStage, PROJECT, QUICK_ENV, type Stage } from '../support/stage.ts';
import { eventually } from '../support/wait.ts';

const NAMES = Array.from({ length: 50 }, (_, index) => `cp-${index}`);

let stage: Stage;
let desk: Desk;
const started: ServiceProcess[] = [];

async function start(): Promise<ServiceProcess> {
  const made = await startServiceProcess({
    args: ['run'],
    dir: stage.landscape.dir,
    env: { ...desk.env, ...stage.env, ...QUICK_ENV, CONCURRENCY: String(NAMES.length) },
  });
  started.push(made);
  return made;
}

beforeAll(async () => {
  stage = await createStage({ provider: foo, answers: 'instant', config: { pollInterval: '0s' } });
  desk = new Desk(stage.landscape.dir);
  const { platform, onboarding } = stage.landscape;
  await ensureNamespace(onboarding.client, PROJECT);
  for (const name of NAMES) {
    const namespace = mcpNamespace(name, PROJECT);
    await ensureNamespace(platform.client, namespace);
    await platform.client.create(CLUSTER_REQUESTS, {
      metadata: { name, namespace },
      spec: { purpose: 'mcp' },
    } as KubeObject);
  }
});

afterAll(async () => {
  await Promise.all(started.map((process) => process.stop()));
  await stage?.stop();
});

const installs = (): string[] => NAMES.filter((name) => callsOf(desk.journal, name).length > 0);

test('a process that ends in the middle of 50 installations loses none and doubles none', async () => {
  const first = await start();
  for (const name of NAMES) desk.hold('install', name);
  await Promise.all(NAMES.map((name) => stage.orders.create(name, 'one')));
  await eventually('all are being installed', (seen) => {
    seen(installs().length);
    return installs().length === NAMES.length;
  });

  const second = await start();
  await first.stop();
  expect(first.exitCode).toBe(0);
  for (const name of NAMES) desk.release('install', name);
  await eventually('all are Ready', async (seen) => {
    const { items } = await stage.landscape.onboarding.client.list<ServiceObject>(foo.api.type, { namespace: PROJECT });
    const ready = items.filter(isReady).length;
    seen(ready);
    return ready === NAMES.length;
  });

  expect(overlaps(desk.journal)).toEqual([]);
  // Each was told to end, and was begun again by the other process, which also looks at everything as it starts.
  for (const name of NAMES) {
    const calls = callsOf(desk.journal, name);
    expect(new Set(calls)).toEqual(new Set(['install 1 one']));
    expect([2, 3]).toContain(calls.length);
  }
  const told = desk.journal.filter(({ event }) => event === 'signal');
  expect(told.map(({ reason }) => reason)).toEqual(NAMES.map(() => 'Shutdown'));
  expect(second.running).toBe(true);
});
