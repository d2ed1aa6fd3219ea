import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { providerConfig } from '../../shared/provider/provider-config.ts';
import { serviceApi } from '../../shared/provider/service-api.ts';
import type { DeliveredStep } from '../../functions/host/deliver.ts';
import { defineProvider } from '../../shared/provider/define.ts';
import { OBJECT_CHANGED } from '../../shared/events/catalogue.ts';
import { CONFIG_MAPS } from '../../shared/kube/resources.ts';
import { displayKey, type ObjectKey } from '../../shared/model/object-key.ts';
import { KcpTenants } from '../support/kcp-tenants.ts';
import { type ConfigMap, isReady } from '../support/orders.ts';
import { writeProviderConfig } from '../support/service.ts';
import { createStage, type Stage } from '../support/stage.ts';
import { eventually } from '../support/wait.ts';
import type { TenantWorkspace } from '../support/workspaces.ts';

const WORKSPACES = 50;
const BACKGROUND = 2_000;
const CONCURRENCY = 5;
const NAMES = { group: 'versions.example.org', version: 'v1alpha1' };
const OURS = { name: 'installed', namespace: 'default' };

/** Installs in the workspace the version that the ProviderConfig says. */
const versions = defineProvider({
  name: 'versions',
  api: serviceApi({ ...NAMES, kind: 'Version', spec: z.object({ foo: z.string().optional() }) }),
  config: providerConfig({ ...NAMES, spec: z.object({ version: z.string() }), kcp: true }),
  workloadCluster: true,
  access: { mcp: { permissions: [{ rules: [{ apiGroups: [''], resources: ['configmaps'], verbs: ['*'] }] }] } },
  kcp: {},
  async createOrUpdate(ctx, { spec }) {
    await ctx.mcp.client.apply<ConfigMap>(CONFIG_MAPS, {
      metadata: OURS,
      data: { version: ctx.config.version, foo: spec.foo ?? '' },
    });
  },
  async delete(ctx) {
    await ctx.mcp.client.delete(CONFIG_MAPS, OURS.name, OURS);
  },
});

interface TimedStep extends DeliveredStep {
  startedAt: number;
}

let stage: Stage;
let tenants: KcpTenants;
let workspaces: TenantWorkspace[];
const steps: TimedStep[] = [];

beforeAll(async () => {
  stage = await createStage({ provider: versions, kcp: true, config: { version: '1' }, answers: 'instant' });
  tenants = new KcpTenants(stage);
  await stage.run({
    concurrency: CONCURRENCY,
    onStep: (step) => steps.push({ ...step, startedAt: Date.now() - step.durationMs }),
  });
  workspaces = [];
  const names = Array.from({ length: WORKSPACES }, (_, index) => `tenant-${index}`).values();
  const create = async () => {
    for (const name of names) workspaces.push(await tenants.bound(name));
  };
  await Promise.all(Array.from({ length: 10 }, create));
}, 600_000);

afterAll(() => stage?.stop());

const installed = ({ client }: TenantWorkspace) => client.get<ConfigMap>(CONFIG_MAPS, OURS.name, OURS.namespace);

test(`${WORKSPACES} workspaces with an object each are all served`, async () => {
  const started = Date.now();
  await Promise.all(workspaces.map((each) => tenants.orders(each).create('mine', 'x')));
  await eventually(
    'all are Ready',
    async (seen) => {
      const objects = await Promise.all(workspaces.map((each) => tenants.orders(each).read('mine')));
      const count = objects.filter((object) => object && isReady(object)).length;
      seen(count);
      return count === WORKSPACES;
    },
    { timeout: 300_000 },
  );
  console.info(
    `${WORKSPACES} workspaces: all Ready ${((Date.now() - started) / 1000).toFixed(1)} s after the first order`,
  );
  for (const each of workspaces) expect((await installed(each))?.data).toEqual({ version: '1', foo: 'x' });
}, 400_000);

test('all follow a change of the ProviderConfig', async () => {
  await stage.idle();
  const since = steps.length;
  const started = Date.now();
  await writeProviderConfig(stage.landscape, versions, { kcp: true, config: { version: '2' } });
  await eventually(
    'all have the new version',
    async (seen) => {
      const all = await Promise.all(workspaces.map(installed));
      const count = all.filter((each) => each?.data?.['version'] === '2').length;
      seen(count);
      return count === WORKSPACES;
    },
    { timeout: 200_000 },
  );
  console.info(
    `ProviderConfig changed: all ${WORKSPACES} followed after ${((Date.now() - started) / 1000).toFixed(1)} s`,
  );
  await stage.idle();
  const installs = steps.slice(since).filter(({ functionName }) => functionName === 'provider-install');
  const perObject = Map.groupBy(installs, ({ event }) => event.key.cluster);
  expect(perObject.size).toBe(WORKSPACES);
}, 300_000);

test(`a user's change goes before ${BACKGROUND} background jobs`, async () => {
  const [workspace] = workspaces as [TenantWorkspace];
  const object = await tenants.orders(workspace).untilReady('mine');
  const ghost = (index: number): ObjectKey => ({
    provider: versions.name,
    mode: 'kcp',
    cluster: (workspaces[index % WORKSPACES] as TenantWorkspace).logicalCluster,
    namespace: 'default',
    name: `ghost-${index}`,
    uid: `ghost-${index}`,
  });
  await Promise.all(
    Array.from({ length: BACKGROUND }, (_, index) => stage.publish(OBJECT_CHANGED, ghost(index), 'background')),
  );
  const since = steps.length;
  await tenants.orders(workspace).change('mine', 'changed');
  const first = await eventually('it was started', () =>
    steps.slice(since).find(({ event }) => event.key.uid === object.metadata.uid),
  );
  const waiting = await stage.jobs('resolve-credentials', 'waiting', 'prioritized');
  const key = displayKey(first.event.key);
  const published = readFileSync(stage.logFile, 'utf8')
    .split('\n')
    .filter((line) => line.includes('"published"') && line.includes(key))
    .map((line) => JSON.parse(line) as { time: number | string; priority: string })
    .findLast(({ priority }) => priority === 'user');
  const addedAt = new Date(published?.time ?? Number.NaN).getTime();
  const between = steps.filter(
    ({ event, startedAt }) => event.key.name.startsWith('ghost') && startedAt > addedAt && startedAt < first.startedAt,
  );
  console.info(`${waiting} background jobs waited; ${between.length} were started before the user's change`);
  expect(addedAt).toBeGreaterThan(0);
  expect(waiting).toBeGreaterThan(BACKGROUND / 4);
  expect(between.length).toBeLessThanOrEqual(CONCURRENCY);
  await tenants.orders(workspace).untilReady('mine');
  expect((await installed(workspace))?.data?.['foo']).toBe('changed');
  // The others get their turn too.
  const done = () => steps.filter(({ event }) => event.key.name.startsWith('ghost')).length;
  const before = done();
  await eventually('background work goes on', () => done() >= before + CONCURRENCY);
}, 300_000);
