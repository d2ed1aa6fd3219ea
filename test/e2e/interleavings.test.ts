import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { configMapName } from '../../functions/providers/foo/provider.ts';
import { CONFIG_MAPS } from '../../shared/kube/resources.ts';
import type { ControlPlane } from '../support/control-plane.ts';
import { callsOf, overlaps } from '../support/journal.ts';
import { Puppet } from '../support/puppet.ts';
import { configMapValue, requestsIn } from '../support/requests.ts';
import { createStage, PROJECT, type Stage } from '../support/stage.ts';
import { eventually } from '../support/wait.ts';

const puppet = new Puppet();
const { journal } = puppet;

let stage: Stage;
let controlPlane: ControlPlane;
let other: ControlPlane;

const valueOn = ({ client, name }: ControlPlane) => configMapValue(client, configMapName(`${PROJECT}/${name}`));

beforeAll(async () => {
  stage = await createStage({ provider: puppet.provider });
  const { landscape } = stage;
  // One object at a time in each function, so that others have to wait in its queue.
  const [one, two] = await Promise.all([
    landscape.createControlPlane(PROJECT, 'cp'),
    landscape.createControlPlane(PROJECT, 'other'),
    // A lease that outlives the pauses of a busy machine: what is counted here are the runs.
    stage.run({ concurrency: 1, leaseMs: 8_000 }),
  ]);
  controlPlane = one;
  other = two;
});

afterAll(() => stage?.stop());

/** A Foo for each control plane that is Ready, and nothing left to do. */
beforeEach(async () => {
  for (const { name } of [controlPlane, other]) {
    if (!(await stage.orders.read(name))) await stage.orders.create(name, 'start');
    await stage.orders.untilReady(name);
  }
  await stage.idle();
  journal.length = 0;
});

test('a change during a running install is installed afterwards, once, and never two at a time', async () => {
  const { orders } = stage;
  const { name } = controlPlane;
  const begun = puppet.hold('install', name);
  const generation = (await orders.change(name, 'first')).metadata.generation ?? 0;
  const held = await begun;
  const object = await orders.change(name, 'second');
  await eventually(
    'the change has come to the one who holds the object',
    async () => (await stage.parked(stage.keyOf(object))) > 0,
  );
  expect(callsOf(journal, name)).toEqual([`install ${generation} first`]);
  held.release();

  const ready = await orders.untilReady(name);
  expect(ready.status).toMatchObject({ observedGeneration: generation + 1, foo: 'second' });
  await stage.idle();
  expect(callsOf(journal, name)).toEqual([`install ${generation} first`, `install ${generation + 1} second`]);
  expect(overlaps(journal)).toEqual([]);
  expect(await valueOn(controlPlane)).toBe('second');
});

test('of many changes during a running install the last one counts', async () => {
  const { orders } = stage;
  const { name } = controlPlane;
  const begun = puppet.hold('install', name);
  const object = await orders.change(name, 'v0');
  const held = await begun;
  for (let change = 1; change <= 5; change++) await orders.change(name, `v${change}`);
  await eventually('a change has come', async () => (await stage.parked(stage.keyOf(object))) > 0);
  held.release();
  await orders.untilReady(name);
  await stage.idle();
  expect(await valueOn(controlPlane)).toBe('v5');
  expect(overlaps(journal)).toEqual([]);
  expect(callsOf(journal, name).at(-1)).toMatch(/ v5$/);
});

test('a deletion during a running install ends it by the signal, and then deletes', async () => {
  const { orders } = stage;
  const { name } = controlPlane;
  const begun = puppet.hold('install', name);
  await orders.change(name, 'never');
  const held = await begun;
  expect(held.ctx.signal.aborted).toBe(false);
  await orders.remove(name);
  await orders.untilGone(name);

  expect(held.ctx.signal.reason).toBe('ObjectDeleted');
  await expect(held.ctx.mcp.client.get(CONFIG_MAPS, 'any', 'default')).rejects.toMatchObject({ code: 'STALE_HOLDER' });
  const events = journal.filter((entry) => entry.name === name).map(({ event, call, reason }) => [event, call, reason]);
  expect(events).toEqual([
    ['start', 'install', undefined],
    ['signal', 'install', 'ObjectDeleted'],
    ['failed', 'install', 'told to end: ObjectDeleted'],
    ['start', 'delete', undefined],
    ['end', 'delete', undefined],
  ]);
  expect(await valueOn(controlPlane)).toBeUndefined();
  expect(await requestsIn(stage.landscape.platform.client, controlPlane.platformNamespace, 'foo--')).toEqual([]);
});

test('an install that waits in its queue while its object is deleted installs nothing', async () => {
  const { orders } = stage;
  const { name } = controlPlane;
  const begun = puppet.hold('install', other.name);
  await orders.change(other.name, 'slow');
  const held = await begun;
  await orders.change(name, 'never');
  await eventually(
    'its install waits',
    async () => (await stage.jobs('provider-install', 'waiting', 'prioritized')) > 0,
  );
  await orders.remove(name);
  await orders.untilGone(name);
  expect(await stage.jobs('provider-install', 'waiting', 'prioritized')).toBeGreaterThan(0);
  held.release();
  await orders.untilReady(other.name);
  await stage.idle();

  expect(callsOf(journal, name)).toEqual(['delete']);
  expect(await valueOn(controlPlane)).toBeUndefined();
  expect(await valueOn(other)).toBe('slow');
  expect(await requestsIn(stage.landscape.platform.client, controlPlane.platformNamespace, 'foo--')).toEqual([]);
});

test('an object that is to be looked at in an hour is worked on at once when its spec changes', async () => {
  const { orders } = stage;
  const { name } = controlPlane;
  puppet.answer('install', name, { requeueAfter: '1h' });
  await orders.change(name, 'patient');
  const object = await orders.untilReady(name);
  await stage.idle();
  const due = await stage.timer(stage.keyOf(object));
  expect(due).toBeGreaterThan(Date.now() + 50 * 60_000);
  const calls = callsOf(journal, name);
  await orders.change(name, 'impatient');
  await orders.untilReady(name);
  expect(await valueOn(controlPlane)).toBe('impatient');
  expect(callsOf(journal, name).slice(calls.length)).toEqual([
    `install ${(object.metadata.generation ?? 0) + 1} impatient`,
  ]);
  await stage.idle();
  // One timer, set anew.
  expect(await stage.timer(stage.keyOf(object))).toBeGreaterThan(due ?? 0);
  puppet.answer('install', name, undefined);
});
