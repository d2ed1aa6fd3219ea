import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { orderOnboardingAccess } from '../../functions/access/onboarding.ts';
import { PermanentError } from '../../shared/errors.ts';
import type { HttpKubeClient } from '../../shared/kube/client.ts';
import { ACCESS_REQUESTS, CLUSTER_REQUESTS, CONFIG_MAPS } from '../../shared/kube/resources.ts';
import { createLogger } from '../../shared/log.ts';
import type { AccessRequest } from '../../shared/model/access.ts';
import type { ResourceType, ServiceObject } from '../../shared/model/kubernetes.ts';
import { mcpNamespace } from '../../shared/names.ts';
import { conditionOf } from '../../shared/status.ts';
import { type ConfigMap, isReady } from '../support/orders.ts';
import { install, probe, type ProbeContext, type ProbeObject, uninstall } from '../support/probe.ts';
import { configMapValue, requestsIn } from '../support/requests.ts';
import { PROVIDER_NAMESPACE, writeProviderConfig } from '../support/service.ts';
import { createStage, PROJECT, type Stage } from '../support/stage.ts';
import { eventually } from '../support/wait.ts';

/** The template orders access to the onboarding cluster under the group of its API. */
const ONBOARDING_NAME = 'offering.services.open-control-plane.io';
const ID_ANNOTATION = 'offering.example/id';

const offering = probe('offering', {
  onboardingControllerName: ONBOARDING_NAME,
  async createOrUpdate(ctx, object) {
    if (object.spec.foo === 'unknown' && ctx.config.greeting !== 'everything')
      throw new PermanentError('version unknown is not offered', { reason: 'VersionNotOffered' });
    await noteOnTheOrder(ctx, object);
    await install(ctx.mcp.client, object, `${ctx.config.greeting ?? ''}${object.spec.foo ?? ''}`);
    if (object.spec.foo !== 'slow' || ++slowCalls >= 4) return;
    ctx.status.progressing('StillStarting', 'not all of it runs yet');
    return { requeueAfter: '50ms' };
  },
  async delete(ctx, object) {
    await ctx.platform.delete(CONFIG_MAPS, releaseName(object), { namespace: ctx.tenantNamespace });
    return uninstall(ctx.mcp.client, object);
  },
});

let slowCalls = 0;
const releaseName = (object: ProbeObject) => `sp-offering-${object.metadata.name}`;

/** As velero does on the onboarding cluster, and flux in the tenant's namespace on the platform. */
async function noteOnTheOrder(ctx: ProbeContext, object: ProbeObject): Promise<void> {
  const annotations = { [ID_ANNOTATION]: ctx.identity };
  const { name, namespace = '' } = object.metadata;
  await ctx.home.mergePatch(ORDERS, name, { metadata: { annotations } }, { namespace });
  const metadata = { name: releaseName(object), namespace: ctx.tenantNamespace };
  await ctx.platform.apply<ConfigMap>(CONFIG_MAPS, { metadata, data: { secret: ctx.mcp.secretRef.name } });
}

const ORDERS: ResourceType = {
  group: 'offering.services.open-control-plane.io',
  version: 'v1alpha1',
  kind: 'Probe',
  plural: 'probes',
  namespaced: true,
};
const CONFIG = offering.provider.config.type;
const NAMES = ['a', 'b', 'c'];

let stage: Stage;
let platform: HttpKubeClient;
let onboarding: HttpKubeClient;
const clusters = new Map<string, HttpKubeClient>();

const configure = (config: Record<string, unknown> = {}) =>
  writeProviderConfig(stage.landscape, offering.provider, { config });
const annotate = (name: string, operation: string | null) =>
  onboarding.mergePatch(
    ORDERS,
    name,
    { metadata: { annotations: { 'openmcp.cloud/operation': operation } } },
    { namespace: PROJECT },
  );
const value = (name: string) => configMapValue(clusters.get(name) as HttpKubeClient, `probe-${name}`);
/** Another object that is served from its beginning to its end: whatever was due before has happened by then. */
const untilSettled = () => stage.idle();

beforeAll(async () => {
  stage = await createStage({ provider: offering.provider });
  platform = stage.landscape.platform.client;
  onboarding = stage.landscape.onboarding.client;
  await platform.delete(CONFIG, 'offering');
  const made = NAMES.map(async (name) => {
    const { client } = await stage.landscape.createControlPlane(PROJECT, name);
    clusters.set(name, client);
  });
  await Promise.all([...made, stage.run()]);
});

afterAll(() => stage?.stop());

describe('the ProviderConfig', () => {
  test('is waited for, and nothing is ordered without it', async () => {
    await Promise.all(NAMES.map((name) => stage.orders.create(name, 'one')));
    for (const name of NAMES) {
      const object = await stage.orders.untilReason(name, 'ProviderConfigNotFound');
      expect(object.status?.phase).toBe('Progressing');
      expect(conditionOf(object, 'Ready')?.message).toContain('No ProviderConfig named offering');
      expect(await requestsIn(platform, mcpNamespace(name, PROJECT), 'offering--')).toEqual([]);
    }
    await configure();
    for (const name of NAMES) await stage.orders.untilReady(name);
    for (const name of NAMES) expect(await value(name)).toBe('one');
  });

  test('gives each call what the guide says', async () => {
    const object = await stage.orders.read('a');
    expect(object?.metadata.annotations?.[ID_ANNOTATION]).toBe(`${PROJECT}/a`);
    const release = await platform.get<ConfigMap>(CONFIG_MAPS, 'sp-offering-a', mcpNamespace('a', PROJECT));
    const access = await platform.get<AccessRequest>(ACCESS_REQUESTS, 'offering--a--mcp', mcpNamespace('a', PROJECT));
    expect(release?.data?.['secret']).toBe(access?.status?.secretRef?.name);
  });

  test('is taken up by all objects when it changes', async () => {
    await configure({ greeting: 'hello ' });
    for (const name of NAMES)
      await eventually(`${name} has the new setting`, async () => (await value(name)) === 'hello one');
    expect(offering.calls.filter(({ config }) => config.greeting === 'hello ').map(({ name }) => name)).toEqual(
      expect.arrayContaining(NAMES),
    );
  });

  test('that is invalid is said, with the field', async () => {
    await untilSettled();
    const installs = offering.installs('a');
    await configure({ pollInterval: '1 day' });
    const object = await stage.orders.untilReason('a', 'InvalidProviderConfig');
    expect(object.status?.phase).toBe('Progressing');
    expect(conditionOf(object, 'Ready')?.message).toMatch(/ProviderConfig offering: spec\.pollInterval: expected/);
    expect(offering.installs('a')).toBe(installs);
    await configure({ pollInterval: '1h30m' });
    const ready = await stage.orders.until('a', 'Ready', isReady);
    await untilSettled();
    const due = (await stage.timer(stage.keyOf(ready))) ?? 0;
    // Give or take a tenth.
    expect(due - Date.now()).toBeGreaterThan(80 * 60_000);
    expect(due - Date.now()).toBeLessThanOrEqual(99 * 60_000);
  });

  test('that is being deleted is not used any more', async () => {
    await configure();
    await stage.orders.until('a', 'Ready', isReady);
    await untilSettled();
    await platform.mergePatch(CONFIG, 'offering', { metadata: { finalizers: ['offering.example/hold'] } });
    await platform.delete(CONFIG, 'offering');
    const object = await stage.orders.untilReason('a', 'ProviderConfigDeleting');
    expect(object.status?.phase).toBe('Progressing');
    await platform.mergePatch(CONFIG, 'offering', { metadata: { finalizers: null } });
    await stage.orders.untilReason('a', 'ProviderConfigNotFound');
  });

  test('that is gone holds a deletion up, which ends by itself when it is back', async () => {
    await stage.orders.remove('b');
    const object = await stage.orders.until('b', 'Terminating', ({ status }) => status?.phase === 'Terminating');
    expect(conditionOf(object, 'Ready')).toMatchObject({ status: 'False', reason: 'ProviderConfigNotFound' });
    expect(conditionOf(object, 'Ready')?.message).toContain('No ProviderConfig named offering');
    expect(await value('b')).toBeDefined();
    expect(offering.deletes('b')).toBe(0);
    await configure();
    await stage.orders.untilGone('b');
    expect(await value('b')).toBeUndefined();
    expect(await platform.get(CONFIG_MAPS, 'sp-offering-b', mcpNamespace('b', PROJECT))).toBeUndefined();
    expect(await requestsIn(platform, mcpNamespace('b', PROJECT), 'offering--')).toEqual([]);
  });
});

test('a provider that asks for it is called again, until it is through', async () => {
  await stage.orders.until('c', 'Ready', isReady);
  const history = await stage.record({ client: onboarding, types: [ORDERS] });
  await stage.orders.change('c', 'slow');
  await stage.orders.untilReady('c');
  expect(slowCalls).toBe(4);
  await eventually('what it said meanwhile was shown', () =>
    history
      .of<ServiceObject>(ORDERS, { name: 'c' })
      .some(({ object }) => conditionOf(object, 'Ready')?.reason === 'StillStarting'),
  );
});

test('what retrying can not mend is said once, and tried again when spec or ProviderConfig change', async () => {
  await stage.orders.until('a', 'Ready', isReady);
  await untilSettled();
  await stage.orders.change('a', 'unknown');
  const object = await stage.orders.untilReason('a', 'VersionNotOffered');
  expect(object.status).toMatchObject({ phase: 'Progressing', observedGeneration: object.metadata.generation });
  await untilSettled();
  const tries = offering.installs('a');
  const key = stage.keyOf(object);
  // No backoff waits for it: a timer, if there is one at all, is the safety timer of minutes.
  expect(((await stage.timer(key)) ?? Number.POSITIVE_INFINITY) - Date.now()).toBeGreaterThan(30_000);
  await configure({ greeting: 'everything' });
  await stage.orders.untilReady('a');
  expect(offering.installs('a')).toBeGreaterThan(tries);

  await configure();
  await stage.orders.untilReason('a', 'VersionNotOffered');
  // The earlier install is removed in full, though the object is not valid now.
  expect(await value('a')).toBe('everythingunknown');
  await annotate('a', 'ignore');
  await stage.orders.remove('a');
  await untilSettled();
  expect(offering.deletes('a')).toBe(0);
  await annotate('a', null);
  await stage.orders.untilGone('a');
  expect(offering.deletes('a')).toBeGreaterThan(0);
  expect(await value('a')).toBeUndefined();
  expect(await requestsIn(platform, mcpNamespace('a', PROJECT), 'offering--')).toEqual([]);
});

test('an object to be ignored is left alone, until it is to be reconciled', async () => {
  await stage.orders.until('c', 'Ready', isReady);
  await annotate('c', 'ignore');
  await stage.orders.change('c', 'later');
  await untilSettled();
  const installs = offering.installs('c');
  expect(await value('c')).toBe('slow');
  expect((await stage.orders.read('c'))?.status?.observedGeneration).not.toBe(
    (await stage.orders.read('c'))?.metadata.generation,
  );
  await annotate('c', 'reconcile');
  await stage.orders.untilReady('c');
  expect(await value('c')).toBe('later');
  expect(offering.installs('c')).toBeGreaterThan(installs);
  expect((await stage.orders.read('c'))?.metadata.annotations?.['openmcp.cloud/operation']).toBeUndefined();
});

test('access to the onboarding cluster is ordered under the name that the provider has there', async () => {
  const log = createLogger('error', 'offering', stage.logFile);
  const { signal } = new AbortController();
  const client = await orderOnboardingAccess(platform, offering.provider, 'run', PROVIDER_NAMESPACE, log, signal);
  expect((await client.get(ORDERS, 'c', PROJECT))?.metadata.name).toBe('c');
  await expect(client.get(CONFIG_MAPS, 'any', 'default')).rejects.toMatchObject({ status: 403 });
  for (const type of [CLUSTER_REQUESTS, ACCESS_REQUESTS])
    expect(await platform.get(type, `${ONBOARDING_NAME}--onboarding-run`, PROVIDER_NAMESPACE)).toMatchObject({
      metadata: { labels: { 'openmcp.cloud/managed-by': ONBOARDING_NAME } },
    });
});
