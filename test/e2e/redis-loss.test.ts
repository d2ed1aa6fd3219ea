import { afterAll, beforeAll, expect, test } from 'vitest';
import { configMapName } from '../../functions/providers/foo/provider.ts';
import { CONFIG_MAPS } from '../../shared/kube/resources.ts';
import type { ControlPlane } from '../support/control-plane.ts';
import { callsOf, overlaps } from '../support/journal.ts';
import type { ConfigMap } from '../support/orders.ts';
import { Puppet } from '../support/puppet.ts';
import { configMapValue, requestsIn } from '../support/requests.ts';
import { createStage, PROJECT, type Stage } from '../support/stage.ts';
import { eventually } from '../support/wait.ts';

const puppet = new Puppet();
const { journal } = puppet;
const NAMES = ['a', 'b', 'c'] as const;

let stage: Stage;
let controlPlanes: Record<(typeof NAMES)[number], ControlPlane>;

const configMapOf = (name: string) => configMapName(`${PROJECT}/${name}`);
const valueOn = ({ client, name }: ControlPlane) => configMapValue(client, configMapOf(name));

beforeAll(async () => {
  stage = await createStage({ provider: puppet.provider });
  const { landscape, orders } = stage;
  await stage.run();
  const made = await Promise.all(NAMES.map((name) => landscape.createControlPlane(PROJECT, name)));
  controlPlanes = Object.fromEntries(made.map((one) => [one.name, one])) as typeof controlPlanes;
  await Promise.all(NAMES.map((name) => orders.create(name, `${name}1`)));
  await Promise.all(NAMES.map((name) => orders.untilReady(name)));
  await stage.idle();
});

afterAll(() => stage?.stop());

/** The objects that were published because the queue had lost its memory. */
function publishedAgain(since: number): string[] {
  const again = stage.published(since).filter(({ reason }) => reason === 'EpochChanged');
  return [...new Set(again.map(({ object }) => object.split('/').at(-1) ?? ''))].sort();
}

test('a queue wiped during an install: who held the object can write no more, and all objects end right', async () => {
  const { orders, redis } = stage;
  const history = await stage.record({ client: controlPlanes.a.client, types: [CONFIG_MAPS] });
  const begun = puppet.hold('install', 'a', { stubborn: true });
  await orders.change('a', 'a2');
  const held = await begun;
  const before = Date.now();
  await redis.command('FLUSHALL');
  await eventually('the holder is told', () => held.ctx.signal.aborted);
  expect(held.ctx.signal.reason).toBe('LeaseLost');
  const write = held.ctx.mcp.client.apply<ConfigMap>(CONFIG_MAPS, {
    metadata: { name: configMapOf('a'), namespace: 'default' },
    data: { foo: 'stale' },
  });
  await expect(write).rejects.toMatchObject({ code: 'STALE_HOLDER' });
  held.release();

  await eventually('the loss is noticed', () => publishedAgain(before).length === NAMES.length);
  await orders.change('b', 'b2');
  await Promise.all(NAMES.map((name) => orders.untilReady(name)));
  await stage.idle();
  expect(await Promise.all(NAMES.map((name) => valueOn(controlPlanes[name])))).toEqual(['a2', 'b2', 'c1']);
  expect(overlaps(journal)).toEqual([]);
  const values = history
    .of<ConfigMap>(CONFIG_MAPS, { name: configMapOf('a') })
    .map(({ object }) => object.data?.['foo']);
  expect([...new Set(values)]).toEqual(['a1', 'a2']);
});

test('a queue set back to an older state, with work in it that is done since, is noticed and filled anew', async () => {
  const { orders, redis, steps } = stage;
  const { platformNamespace } = controlPlanes.b;
  // Taken while an install of `a` runs, one of `c` has its timer, and `b` still exists.
  puppet.answer('install', 'c', { requeueAfter: '1h' });
  await orders.change('c', 'c2');
  await orders.untilReady('c');
  const begun = puppet.hold('install', 'a');
  await orders.change('a', 'a3');
  const held = await begun;
  const dump = await stage.dump();
  held.release();
  await orders.untilReady('a');
  await orders.remove('b');
  await orders.untilGone('b');
  await orders.change('c', 'c3');
  await orders.untilReady('c');
  await stage.idle();
  const before = Date.now();
  const [calls, stepsBefore] = [journal.length, steps.length];

  await redis.kill();
  await orders.change('a', 'a4');
  await redis.restartFromDump(dump);
  // For `a` a user's change is sent already.
  await eventually('the loss is noticed', () => publishedAgain(before).includes('c'));
  await Promise.all(['a', 'c'].map((name) => orders.untilReady(name)));
  await stage.idle();
  expect(await Promise.all(NAMES.map((name) => valueOn(controlPlanes[name])))).toEqual(['a4', undefined, 'c3']);
  expect(await requestsIn(stage.landscape.platform.client, platformNamespace, 'foo--')).toEqual([]);
  expect(overlaps(journal)).toEqual([]);
  expect(callsOf(journal.slice(calls), 'b')).toEqual([]);
  const looked = steps.slice(stepsBefore).map(({ event }) => event.key.name);
  expect(looked).toEqual(expect.arrayContaining(['a', 'c']));
  puppet.answer('install', 'c', undefined);
});

test('a queue that is killed and comes back empty loses nothing that users did meanwhile', async () => {
  const { orders, redis } = stage;
  const { namespace, name } = controlPlanes.b;
  await redis.kill();
  await orders.change('a', 'a5');
  await orders.create('b', 'b5');
  await orders.remove('c');
  await redis.restartEmpty();
  await Promise.all([orders.untilReady('a'), orders.untilReady('b'), orders.untilGone('c')]);
  await stage.idle();
  expect(await Promise.all(NAMES.map((each) => valueOn(controlPlanes[each])))).toEqual(['a5', 'b5', undefined]);
  expect(overlaps(journal)).toEqual([]);
  expect(await requestsIn(stage.landscape.platform.client, controlPlanes.c.platformNamespace, 'foo--')).toEqual([]);
  expect((await orders.read(name))?.metadata.namespace).toBe(namespace);
});
