import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { blockDeletion } from '../../functions/helpers/block-deletion.ts';
import { addFinalizerPatch } from '../../shared/finalizers.ts';
import type { HttpKubeClient } from '../../shared/kube/client.ts';
import { ACCESS_REQUESTS, CLUSTER_REQUESTS, CONFIG_MAPS, CRDS, SECRETS } from '../../shared/kube/resources.ts';
import type { KubeObject, KubeObjectOf, ResourceType, ServiceObject } from '../../shared/model/kubernetes.ts';
import { mcpNamespace } from '../../shared/names.ts';
import { conditionOf } from '../../shared/status.ts';
import { type History, recordHistory } from '../support/history.ts';
import type { AccessRequest } from '../support/openmcp.ts';
import { isReady, PATIENCE } from '../support/orders.ts';
import { install, MANAGE_CONFIG_MAPS, probe, rule, uninstall } from '../support/probe.ts';
import { deletionAsked, position, requestsIn } from '../support/requests.ts';
import { writeProviderConfig } from '../support/service.ts';
import { createStage, PROJECT, type Stage } from '../support/stage.ts';
import { eventually } from '../support/wait.ts';

const ORDERS: ResourceType = {
  group: 'telling.services.open-control-plane.io',
  version: 'v1alpha1',
  kind: 'Probe',
  plural: 'probes',
  namespaced: true,
};
const FINALIZER = `${ORDERS.group}/finalizer`;

/** What tenants create with the service, on their own cluster. */
const THINGS: ResourceType = {
  group: 'things.example',
  version: 'v1',
  kind: 'Thing',
  plural: 'things',
  namespaced: true,
};
/** A kind that the service has in some versions only. */
const OTHERS: ResourceType = { ...THINGS, kind: 'Other', plural: 'others' };

const telling = probe('telling', {
  access: {
    mcp: {
      permissions: [
        ...(MANAGE_CONFIG_MAPS.permissions ?? []),
        {
          rules: [
            rule(['things', 'others'], ['things.example']),
            rule(['customresourcedefinitions'], ['apiextensions.k8s.io']),
          ],
        },
      ],
    },
  },
  async createOrUpdate(ctx, object) {
    const { foo = '' } = object.spec;
    if (foo === 'broken') throw new Error('the chart could not be found');
    if (foo === 'wrong-phase')
      ctx.status.resources([{ kind: 'ConfigMap', name: 'x', phase: 'Done' as unknown as 'Ready' }]);
    await install(ctx.mcp.client, object);
    ctx.status.condition({
      type: 'Synced',
      status: foo === 'unsynced' ? 'False' : 'True',
      reason: 'Checked',
      message: `as ${foo}`,
    });
    ctx.status.set({ note: foo, other: foo === 'two' ? 'here' : undefined });
    ctx.status.resources(
      (['Pending', 'Progressing', 'Ready', 'Failed', 'Terminating', 'Unknown'] as const).map((phase) => ({
        kind: 'ConfigMap',
        namespace: 'default',
        name: phase.toLowerCase(),
        phase,
        message: `is ${phase}`,
      })),
    );
  },
  async delete(ctx, object) {
    if (object.spec.foo === 'stubborn' && telling.deletes(object.metadata.name) < 3)
      throw new Error('the chart does not go');
    const blocked = await blockDeletion(ctx, {
      kinds: [THINGS, OTHERS],
      except: ({ metadata }) => metadata.labels?.['things.example/built-in'] === 'true',
      requeueAfter: '300ms',
    });
    return blocked ?? uninstall(ctx.mcp.client, object);
  },
});

let stage: Stage;
let platform: HttpKubeClient;
let onboarding: HttpKubeClient;
const histories: History[] = [];

beforeAll(async () => {
  stage = await createStage({ provider: telling.provider });
  platform = stage.landscape.platform.client;
  onboarding = stage.landscape.onboarding.client;
  await stage.run();
});

afterAll(async () => {
  for (const history of histories) history.stop();
  await stage?.stop();
});

async function controlPlane(name: string): Promise<HttpKubeClient> {
  return (await stage.landscape.createControlPlane(PROJECT, name)).client;
}

const writeStatus = (name: string, status: object) =>
  onboarding.mergePatch<ServiceObject>(ORDERS, name, { status }, { namespace: PROJECT, subresource: 'status' });
const timeOf = (object: ServiceObject | undefined, type: string) =>
  object && conditionOf(object, type)?.lastTransitionTime;
/** Condition times count in seconds: whatever is set from now on differs from what was set before. */
const nextSecond = () => {
  const now = Math.floor(Date.now() / 1000);
  return eventually('a second is over', () => Math.floor(Date.now() / 1000) > now);
};

describe('the status of an object', () => {
  beforeAll(async () => {
    await controlPlane('told');
    await stage.orders.create('told', 'one');
    await stage.orders.untilReady('told');
  });

  test('has the conditions and reasons of the Go runtime, and what the provider says', async () => {
    const object = await stage.orders.untilReady('told');
    expect(object.status).toMatchObject({ phase: 'Ready', observedGeneration: 1, note: 'one' });
    expect(conditionOf(object, 'Ready')).toMatchObject({
      status: 'True',
      reason: 'ReconcileSuccess',
      message: 'Domain Service is ready',
      observedGeneration: 1,
    });
    expect(conditionOf(object, 'Synced')).toMatchObject({ status: 'True', reason: 'Checked', message: 'as one' });
    expect((object.status?.['resources'] as { phase: string }[]).map(({ phase }) => phase)).toEqual([
      'Pending',
      'Progressing',
      'Ready',
      'Failed',
      'Terminating',
      'Unknown',
    ]);
  });

  test('keeps what others wrote, and times that did not flip', async () => {
    const foreign = {
      type: 'Audited',
      status: 'True',
      reason: 'ByHand',
      message: '',
      lastTransitionTime: '2020-01-01T00:00:00Z',
    };
    const before = await stage.orders.untilReady('told');
    await writeStatus('told', { conditions: [...(before.status?.conditions ?? []), foreign] });
    await nextSecond();
    await stage.orders.change('told', 'two');
    const after = await stage.orders.untilReady('told');
    expect(conditionOf(after, 'Audited')).toEqual(foreign);
    expect(after.status).toMatchObject({ observedGeneration: 2, note: 'two', other: 'here' });
    expect(conditionOf(after, 'Synced')).toMatchObject({ message: 'as two', observedGeneration: 2 });
    for (const type of ['Ready', 'Synced']) expect(timeOf(after, type)).toBe(timeOf(before, type));

    await nextSecond();
    await stage.orders.change('told', 'unsynced');
    const flipped = await stage.orders.untilReady('told');
    expect(conditionOf(flipped, 'Synced')?.status).toBe('False');
    expect(timeOf(flipped, 'Synced')).not.toBe(timeOf(before, 'Synced'));
    expect(timeOf(flipped, 'Ready')).toBe(timeOf(before, 'Ready'));
    // Removed by the provider, and only that.
    expect(flipped.status).not.toHaveProperty('other');
    expect(conditionOf(flipped, 'Audited')).toEqual(foreign);
  });

  test('says what went wrong, is tried again, and then forgets it', async () => {
    await stage.orders.change('told', 'broken');
    const object = await stage.orders.untilReason('told', 'ReconcileError');
    expect(object.status).toMatchObject({ phase: 'Progressing', observedGeneration: object.metadata.generation });
    expect(conditionOf(object, 'Ready')).toMatchObject({ status: 'False', message: 'the chart could not be found' });
    const tries = telling.installs('told');
    await eventually('it is tried again', () => telling.installs('told') >= tries + 2, PATIENCE);
    await stage.orders.change('told', 'one');
    await stage.orders.untilReady('told');
  });

  test('never has a phase of a resource that the guide does not know', async () => {
    await stage.orders.change('told', 'wrong-phase');
    const object = await stage.orders.untilReason('told', 'ReconcileError');
    expect(conditionOf(object, 'Ready')?.message).toContain('ConfigMap x has the phase Done; choose one of Pending');
    await stage.orders.change('told', 'one');
    await stage.orders.untilReady('told');
  });

  test('does not change while the object is polled and all is well', async () => {
    await writeProviderConfig(stage.landscape, telling.provider, { config: { pollInterval: '300ms' } });
    const installs = () => telling.installs('told');
    const start = installs();
    await eventually('it is polled', () => installs() >= start + 2, PATIENCE);
    const before = await stage.orders.untilReady('told');
    const already = installs();
    await eventually('it was looked at ten times', () => installs() >= already + 10, PATIENCE);
    expect((await stage.orders.read('told'))?.metadata.resourceVersion).toBe(before.metadata.resourceVersion);
    await writeProviderConfig(stage.landscape, telling.provider);
  });
});

describe('a deletion', () => {
  test('is retried when the provider fails, and stays Terminating', async () => {
    await controlPlane('stubborn');
    await stage.orders.create('stubborn', 'stubborn');
    await stage.orders.untilReady('stubborn');
    await stage.orders.remove('stubborn');
    const object = await stage.orders.untilReason('stubborn', 'ReconcileError');
    expect(object.status?.phase).toBe('Terminating');
    expect(conditionOf(object, 'Ready')).toMatchObject({ status: 'False', message: 'the chart does not go' });
    await stage.orders.untilGone('stubborn');
    expect(telling.deletes('stubborn')).toBeGreaterThanOrEqual(3);
  });

  test("waits while the tenant's own objects exist, and says which and how many", async () => {
    const client = await controlPlane('in-use');
    await client.apply(CRDS, thingsCrd());
    const things = ['one', 'two', 'built-in'];
    for (const name of things)
      await eventually(`${name} can be created`, () =>
        client.apply<KubeObject>(THINGS, {
          metadata: {
            name,
            namespace: 'default',
            labels: name === 'built-in' ? { 'things.example/built-in': 'true' } : {},
          },
        }),
      );
    await stage.orders.create('in-use', 'one');
    await stage.orders.untilReady('in-use');
    await stage.orders.remove('in-use');
    const blocked = await stage.orders.untilReason('in-use', 'DeletionBlocked');
    expect(blocked.status?.phase).toBe('Terminating');
    expect(conditionOf(blocked, 'DeletionBlocked')).toMatchObject({
      status: 'True',
      reason: 'ResourcesExist',
      message: 'The service is removed once these objects of yours are deleted: 2 Thing.things.example',
    });
    const deletes = telling.deletes('in-use');
    await eventually('it was looked at again', () => telling.deletes('in-use') >= deletes + 2, PATIENCE);
    // Nothing was uninstalled, and all access is there.
    expect(await client.get(CONFIG_MAPS, 'probe-in-use', 'default')).toBeDefined();
    expect(await requestsIn(platform, mcpNamespace('in-use', PROJECT), 'telling--')).toContain(
      'AccessRequest/telling--in-use--mcp',
    );

    await client.delete(THINGS, 'one', { namespace: 'default' });
    await stage.orders.until(
      'in-use',
      'blocked by one',
      (object) => conditionOf(object, 'DeletionBlocked')?.message.endsWith(': 1 Thing.things.example') ?? false,
    );
    await client.delete(THINGS, 'two', { namespace: 'default' });
    await stage.orders.untilGone('in-use');
    expect(await client.get(CONFIG_MAPS, 'probe-in-use', 'default')).toBeUndefined();
    expect(await client.get(THINGS, 'built-in', 'default')).toBeDefined();
  });

  test('keeps its access until a child that somebody holds is gone, and then goes in order', async () => {
    const client = await controlPlane('held');
    const namespace = mcpNamespace('held', PROJECT);
    await stage.orders.create('held', 'one');
    await stage.orders.untilReady('held');
    const child = { name: 'probe-held', namespace: 'default' };
    await client.mergePatch(CONFIG_MAPS, child.name, { metadata: { finalizers: ['elsewhere.example/hold'] } }, child);
    const history = await recordHistory([
      { client: platform, types: [ACCESS_REQUESTS, CLUSTER_REQUESTS] },
      { client: onboarding, types: [ORDERS] },
      { client, types: [CONFIG_MAPS] },
    ]);
    histories.push(history);
    await stage.orders.remove('held');
    await eventually('delete runs again and again', () => telling.deletes('held') >= 3, PATIENCE);
    const object = await stage.orders.read('held');
    expect(object?.status?.phase).toBe('Terminating');
    expect(conditionOf(object as ServiceObject, 'Ready')).toMatchObject({ status: 'False', reason: 'Terminating' });
    const access = await platform.get<AccessRequest>(ACCESS_REQUESTS, 'telling--held--mcp', namespace);
    expect(access?.metadata.deletionTimestamp).toBeUndefined();
    expect(await platform.get(SECRETS, access?.status?.secretRef?.name ?? '', namespace)).toBeDefined();

    // Somebody removes the access in the middle: it is ordered again, and the deletion goes on with it.
    await platform.delete(ACCESS_REQUESTS, 'telling--held--mcp', { namespace });
    await eventually(
      'access is there again',
      async (seen) => {
        const again = await platform.get<AccessRequest>(ACCESS_REQUESTS, 'telling--held--mcp', namespace);
        seen(again);
        return again !== undefined && again.metadata.uid !== access?.metadata.uid && again.status?.phase === 'Granted';
      },
      PATIENCE,
    );
    const deletes = telling.deletes('held');
    await eventually('delete runs again', () => telling.deletes('held') > deletes, PATIENCE);
    expect(await client.get(CONFIG_MAPS, child.name, 'default')).toBeDefined();

    await client.mergePatch(CONFIG_MAPS, child.name, { metadata: { finalizers: null } }, child);
    await stage.orders.untilGone('held');
    await eventually('the history tells it', () => history.of(ORDERS, { type: 'DELETED', name: 'held' })[0]);
    const last = history.of(ACCESS_REQUESTS, { name: 'telling--held--mcp', namespace }).at(-1);
    const asked = history
      .of<KubeObject>(ACCESS_REQUESTS, { name: 'telling--held--mcp', namespace })
      .filter(({ object: { metadata } }) => metadata.uid === last?.object.metadata.uid);
    const order = [
      position(history.of(CONFIG_MAPS, { type: 'DELETED', name: child.name })[0]),
      position(deletionAsked(asked)),
      position(asked.at(-1)),
      position(history.of(ORDERS, { type: 'DELETED', name: 'held' })[0]),
    ];
    expect(order.every(Number.isFinite)).toBe(true);
    expect(order).toEqual([...order].sort((a, b) => a - b));
    expect(history.of(ACCESS_REQUESTS, { type: 'ADDED', namespace })).toHaveLength(2);
    expect(await requestsIn(platform, namespace, 'telling--')).toEqual([]);
  });
});

describe('finalizers of others', () => {
  test('that arrive between read and write are kept, and so are those that come and go meanwhile', async () => {
    await controlPlane('shared');
    const created = await stage.orders.create('shared', 'one');
    const theirs = 'elsewhere.example/theirs';
    // Whatever the runtime reads and writes meanwhile, this one goes in between.
    await eventually('theirs is on it', async () => {
      const now = await stage.orders.read('shared');
      return now && onboarding.mergePatch(ORDERS, 'shared', addFinalizerPatch(now, theirs), { namespace: PROJECT });
    });
    await expect(
      onboarding.mergePatch(ORDERS, 'shared', addFinalizerPatch(created, 'elsewhere.example/late'), {
        namespace: PROJECT,
      }),
    ).rejects.toMatchObject({ status: 409, reason: 'Conflict' });
    const ready = await stage.orders.until('shared', 'Ready', isReady);
    expect([...(ready.metadata.finalizers ?? [])].sort()).toEqual([theirs, FINALIZER].sort());

    await stage.orders.remove('shared');
    const left = await stage.orders.until(
      'shared',
      'left by us',
      ({ metadata }) => !metadata.finalizers?.includes(FINALIZER),
    );
    expect(left.metadata.finalizers).toEqual([theirs]);
    await stage.idle();
    expect((await stage.orders.read('shared'))?.metadata.finalizers).toEqual([theirs]);
    await onboarding.mergePatch(ORDERS, 'shared', { metadata: { finalizers: null } }, { namespace: PROJECT });
    await stage.orders.untilGone('shared');
  });

  test('and an object that vanishes is never created again', async () => {
    await controlPlane('vanishing');
    await stage.orders.create('vanishing', 'one');
    await stage.orders.untilReady('vanishing');
    const history = await recordHistory([{ client: onboarding, types: [ORDERS] }]);
    histories.push(history);
    await stage.orders.remove('vanishing');
    await onboarding
      .mergePatch(ORDERS, 'vanishing', { metadata: { finalizers: null } }, { namespace: PROJECT })
      .catch(() => undefined);
    await stage.orders.untilGone('vanishing');
    await stage.idle();
    const told = history.of(ORDERS, { name: 'vanishing' });
    expect(told.filter(({ type }) => type === 'ADDED')).toHaveLength(1);
    expect(told.at(-1)?.type).toBe('DELETED');
  });
});

function thingsCrd(): KubeObjectOf<{ spec: object }> {
  return {
    metadata: { name: 'things.things.example' },
    spec: {
      group: 'things.example',
      scope: 'Namespaced',
      names: { kind: 'Thing', plural: 'things', singular: 'thing', listKind: 'ThingList' },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
        },
      ],
    },
  };
}
