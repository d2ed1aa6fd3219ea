import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { addFinalizerPatch } from '../../shared/finalizers.ts';
import type { HttpKubeClient } from '../../shared/kube/client.ts';
import { ACCESS_REQUESTS, CLUSTER_REQUESTS, CONFIG_MAPS, CRDS, SECRETS } from '../../shared/kube/resources.ts';
import type { AccessRequest } from '../../shared/model/access.ts';
import type { KubeObject, ServiceObject } from '../../shared/model/kubernetes.ts';
import { mcpNamespace } from '../../shared/names.ts';
import { conditionOf } from '../../shared/status.ts';
import { isReady } from '../support/orders.ts';
import { leaving, THINGS, thingsCrd } from '../support/providers/leaving.ts';
import { deletionAsked, position, requestsIn } from '../support/requests.ts';
import { createStage, PROJECT, type Stage } from '../support/stage.ts';
import { eventually } from '../support/wait.ts';

const ORDERS = leaving.provider.api.type;
const FINALIZER = `${ORDERS.group}/finalizer`;

let stage: Stage;
let platform: HttpKubeClient;
let onboarding: HttpKubeClient;

beforeAll(async () => {
  stage = await createStage({ provider: leaving.provider });
  platform = stage.landscape.platform.client;
  onboarding = stage.landscape.onboarding.client;
  await stage.run();
});

afterAll(() => stage?.stop());

async function controlPlane(name: string): Promise<HttpKubeClient> {
  return (await stage.landscape.createControlPlane(PROJECT, name)).client;
}

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
    expect(leaving.deletes('stubborn')).toBeGreaterThanOrEqual(3);
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
    const deletes = leaving.deletes('in-use');
    await eventually('it was looked at again', () => leaving.deletes('in-use') >= deletes + 2);
    // Nothing was uninstalled, and all access is there.
    expect(await client.get(CONFIG_MAPS, 'probe-in-use', 'default')).toBeDefined();
    expect(await requestsIn(platform, mcpNamespace('in-use', PROJECT), 'leaving--')).toContain(
      'AccessRequest/leaving--in-use--mcp',
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
  });

  test('ends although the type of something that was installed is gone first', async () => {
    const client = await controlPlane('untyped');
    await client.apply(CRDS, thingsCrd());
    const labels = { 'things.example/built-in': 'true' };
    await eventually('it can be created', () =>
      client.apply<KubeObject>(THINGS, { metadata: { name: 'built-in', namespace: 'default', labels } }),
    );
    await stage.orders.create('untyped', 'one');
    await stage.orders.untilReady('untyped');
    await client.delete(CRDS, thingsCrd().metadata.name);
    await eventually('the type is gone', async () => !(await client.get(CRDS, thingsCrd().metadata.name)));
    await stage.orders.remove('untyped');
    await stage.orders.untilGone('untyped');
    expect(await client.get(CONFIG_MAPS, 'probe-untyped', 'default')).toBeUndefined();
  });

  test('keeps its access until a child that somebody holds is gone, and then goes in order', async () => {
    const client = await controlPlane('held');
    const namespace = mcpNamespace('held', PROJECT);
    await stage.orders.create('held', 'one');
    await stage.orders.untilReady('held');
    const child = { name: 'probe-held', namespace: 'default' };
    await client.mergePatch(CONFIG_MAPS, child.name, { metadata: { finalizers: ['elsewhere.example/hold'] } }, child);
    const history = await stage.record(
      { client: platform, types: [ACCESS_REQUESTS, CLUSTER_REQUESTS] },
      { client: onboarding, types: [ORDERS] },
      { client, types: [CONFIG_MAPS] },
    );
    await stage.orders.remove('held');
    await eventually('delete runs again and again', () => leaving.deletes('held') >= 3);
    const object = await stage.orders.read('held');
    expect(object?.status?.phase).toBe('Terminating');
    expect(conditionOf(object as ServiceObject, 'Ready')).toMatchObject({ status: 'False', reason: 'Terminating' });
    const access = await platform.get<AccessRequest>(ACCESS_REQUESTS, 'leaving--held--mcp', namespace);
    expect(access?.metadata.deletionTimestamp).toBeUndefined();
    expect(await platform.get(SECRETS, access?.status?.secretRef?.name ?? '', namespace)).toBeDefined();

    // Somebody removes the access in the middle: it is ordered again, and the deletion goes on with it.
    await platform.delete(ACCESS_REQUESTS, 'leaving--held--mcp', { namespace });
    await eventually('access is there again', async (seen) => {
      const again = await platform.get<AccessRequest>(ACCESS_REQUESTS, 'leaving--held--mcp', namespace);
      seen(again);
      return again !== undefined && again.metadata.uid !== access?.metadata.uid && again.status?.phase === 'Granted';
    });
    const deletes = leaving.deletes('held');
    await eventually('delete runs again', () => leaving.deletes('held') > deletes);
    expect(await client.get(CONFIG_MAPS, child.name, 'default')).toBeDefined();

    await client.mergePatch(CONFIG_MAPS, child.name, { metadata: { finalizers: null } }, child);
    await stage.orders.untilGone('held');
    await eventually('the history tells it', () => history.of(ORDERS, { type: 'DELETED', name: 'held' })[0]);
    const last = history.of(ACCESS_REQUESTS, { name: 'leaving--held--mcp', namespace }).at(-1);
    const asked = history
      .of<KubeObject>(ACCESS_REQUESTS, { name: 'leaving--held--mcp', namespace })
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
    expect(await requestsIn(platform, namespace, 'leaving--')).toEqual([]);
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
    const history = await stage.record({ client: onboarding, types: [ORDERS] });
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
