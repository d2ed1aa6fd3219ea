import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import type { ApiExport } from '../../bridge/kcp/decide-provision.ts';
import { providerConfig } from '../../shared/provider/provider-config.ts';
import { serviceApi } from '../../shared/provider/service-api.ts';
import type { RunningRuntime } from '../../deploy/command/compose.ts';
import type { ConfiguredProvider } from '../../shared/provider/provider.ts';
import { defineProvider } from '../../shared/provider/define.ts';
import { API_EXPORTS, API_RESOURCE_SCHEMAS } from '../../shared/kube/resources.ts';
import type { Condition, KubeObjectOf, ServiceObject } from '../../shared/model/kubernetes.ts';
import { KcpTenants } from '../support/kcp-tenants.ts';
import { createStage, QUICK, type Stage } from '../support/stage.ts';
import { eventually } from '../support/wait.ts';
import type { TenantWorkspace } from '../support/workspaces.ts';

const NAMES = { group: 'paints.example.org', version: 'v1alpha1' };
const FIRST = z.object({ foo: z.string().optional() });
const WITH_COLOUR = FIRST.extend({ colour: z.string().optional() });
const INCOMPATIBLE = z.object({ foo: z.int().optional() });
/** All objects that there are would be valid. */
const TIGHTER = FIRST.extend({ colour: z.string().max(3).optional() });

/** Says in the status what it was told in the spec. */
function paints(spec: z.ZodObject): ConfiguredProvider {
  return defineProvider({
    name: 'paints',
    api: serviceApi({ ...NAMES, kind: 'Paint', spec, status: z.object({ told: z.string() }) }),
    config: providerConfig({ ...NAMES, spec: z.object({}), kcp: true }),
    workloadCluster: true,
    access: { mcp: {} },
    kcp: {},
    createOrUpdate: (ctx, object) => Promise.resolve(ctx.status.set({ told: JSON.stringify(object.spec) })),
    delete: () => Promise.resolve(),
  });
}

let stage: Stage;
let tenants: KcpTenants;
let one: TenantWorkspace;
let two: TenantWorkspace;
let runtime: RunningRuntime;

const { type } = paints(FIRST).api;
const start = (provider: ConfiguredProvider): Promise<RunningRuntime> =>
  stage.run({ provider, bridgeTuning: { ...QUICK.bridgeTuning, upkeep: { upkeepMs: 500, schemaGraceMs: 1_000 } } });
const schemas = async (): Promise<string[]> =>
  (await stage.landscape.services.client.list(API_RESOURCE_SCHEMAS)).items.map(({ metadata }) => metadata.name);
const nameOf = (spec: z.ZodObject): string => paints(spec).api.apiResourceSchema().metadata.name;
const told = (object: ServiceObject): unknown => JSON.parse(String(object.status?.['told']));

beforeAll(async () => {
  stage = await createStage({ provider: paints(FIRST), kcp: true });
  tenants = new KcpTenants(stage);
  runtime = await start(paints(FIRST));
  one = await tenants.bound('one');
  two = await tenants.bound('two');
  for (const each of [one, two]) {
    await tenants.orders(each).create('mine', 'first');
    await tenants.orders(each).untilReady('mine');
  }
});

afterAll(() => stage?.stop());

test('a new optional field appears in bound workspaces, objects survive, and the old schema goes once it is unused', async () => {
  const uids = await Promise.all(
    [one, two].map(async (each) => (await tenants.orders(each).read('mine'))?.metadata.uid),
  );
  // As in a rolling update: for a while both versions run.
  const next = await start(paints(WITH_COLOUR));
  await runtime.stop();
  runtime = next;
  for (const each of [one, two]) {
    await eventually('the field is kept', async () => {
      const patch = { spec: { colour: 'red' } };
      const object = await each.client.mergePatch<ServiceObject>(type, 'mine', patch, { namespace: 'default' });
      return object.spec?.['colour'] === 'red';
    });
    const object = await tenants
      .orders(each)
      .until('mine', 'told of it', (now) => String(now.status?.['told']).includes('red'));
    expect(told(object)).toEqual({ foo: 'first', colour: 'red' });
  }
  expect(uids).toEqual(
    await Promise.all([one, two].map(async (each) => (await tenants.orders(each).read('mine'))?.metadata.uid)),
  );
  await eventually('only the new schema is left', async (seen) => {
    const names = await schemas();
    seen(names);
    return names.length === 1 && names[0] === nameOf(WITH_COLOUR);
  });
  // What is followed after all of that: by the watches that were there before.
  await tenants.orders(one).change('mine', 'second');
  const object = await tenants
    .orders(one)
    .until('mine', 'told', (now) => String(now.status?.['told']).includes('second'));
  expect(told(object)).toEqual({ foo: 'second', colour: 'red' });
});

test('an incompatible change is refused before the export moves, and the field is named', async () => {
  const { client } = stage.landscape.services;
  const configType = paints(INCOMPATIBLE).config.type;
  const before = await client.get<ApiExport>(API_EXPORTS, tenants.exportName);
  await runtime.stop();
  runtime = await start(paints(INCOMPATIBLE));
  const message = await eventually('the ProviderConfig says so', async (seen) => {
    const config = await tenants.platform.get<KubeObjectOf<{ status?: { conditions?: Condition[] } }>>(
      configType,
      'paints',
    );
    seen(config?.status);
    return config?.status?.conditions?.find(({ reason }) => reason === 'IncompatibleSchema')?.message;
  });
  expect(message).toContain('v1alpha1.spec.foo: type was string, is now integer');
  expect(runtime.ready().join()).toContain('v1alpha1.spec.foo');
  expect(await client.get(API_EXPORTS, tenants.exportName)).toEqual(before);
  expect(await schemas()).toEqual([nameOf(WITH_COLOUR)]);

  await runtime.stop();
  runtime = await start(paints(WITH_COLOUR));
  await tenants.orders(two).change('mine', 'after');
  await tenants.orders(two).until('mine', 'told', (now) => String(now.status?.['told']).includes('after'));
});

test('while a schema is refused tenants are served on the one that they have, also after a restart', async () => {
  for (const attempt of ['first', 'again']) {
    await runtime.stop();
    runtime = await start(paints(TIGHTER));
    await eventually('it is refused', () => runtime.ready().join().includes('colour: maxLength was none, is now 3'));
    const words = `refused-${attempt}`;
    await tenants.orders(one).change('mine', words);
    const object = await tenants
      .orders(one)
      .until('mine', 'told', (now) => String(now.status?.['told']).includes(words));
    expect(told(object)).toEqual({ foo: words, colour: 'red' });
  }
  expect(await schemas()).toEqual([nameOf(WITH_COLOUR)]);
  await runtime.stop();
  runtime = await start(paints(WITH_COLOUR));
  await eventually('nothing is refused', () => runtime.ready().length === 0);
});
