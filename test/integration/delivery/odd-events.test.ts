import { describe, expect, test } from 'vitest';
import {
  DELETE_REQUESTED,
  type FunctionName,
  INSTALL_REQUESTED,
  OBJECT_CHANGED,
} from '../../../shared/events/catalogue.ts';
import { serviceEvent, toCloudEvent } from '../../../shared/events/service-event.ts';
import { formatObjectKey } from '../../../shared/model/object-key.ts';
import { done } from '../../../shared/events/outcome.ts';
import { UNKNOWN_VERSION_TRIES } from '../../../shared/tuning.ts';
import { eventually } from '../../support/wait.ts';
import { keyOf, keys, member, setTimer, shop } from '../redis-harness.ts';
import { Delivery, gate, type Seen } from './harness.ts';

const delivery = new Delivery();

describe('events that are not as they should be', () => {
  const addRaw = async (name: FunctionName, data: unknown): Promise<void> => {
    await delivery.queue(name).add('raw', data, { removeOnComplete: true });
  };
  const worksOn = async (host: { seen: Seen[] }): Promise<void> => {
    const before = host.seen.length;
    await delivery.publish(OBJECT_CHANGED, keyOf('next'));
    await eventually('the worker goes on', () => host.seen.length === before + 1);
    expect(host.seen.at(-1)?.object).toBe(formatObjectKey(keyOf('next')));
    await delivery.quiet();
  };
  const cloudEvent = (fields: object): object => ({
    ...toCloudEvent(serviceEvent(OBJECT_CHANGED, shop, { reason: 'Changed' })).toJSON(),
    ...fields,
  });

  test('one of a version that only a newer worker knows is handed back by a timer, not lost', async () => {
    await delivery.startBridge([], 0);
    const host = await delivery.startHost(() => Promise.resolve(done()));
    await addRaw('provider-install', cloudEvent({ type: INSTALL_REQUESTED.replace('.v1', '.v2') }));
    const due = await eventually('a timer', delivery.dueIn);
    expect(due).toBeGreaterThan(8_000);
    expect(due).toBeLessThanOrEqual(10_000);
    expect(host.seen).toEqual([]);
    await setTimer(delivery.redis, shop, 0);
    await eventually('it is looked at', () => host.seen.length === 1);
    expect(host.seen[0]).toMatchObject({ functionName: 'resolve-credentials', reason: 'Timer' });
    await worksOn(host);
  });

  test('one that came while its object is held is not forgotten with the timer that the holder clears', async () => {
    await delivery.startBridge([], 0);
    const { passed, open } = gate();
    const host = await delivery.startHost(async (_event, _lease, name) => {
      if (name === 'provider-install') await passed;
      return done();
    });
    await delivery.publish(INSTALL_REQUESTED);
    await eventually('it is worked on', () => host.seen.length === 1);
    await addRaw('resolve-credentials', cloudEvent({ type: OBJECT_CHANGED.replace('.v1', '.v2') }));
    await eventually('it is handed back', () => delivery.logged.some(({ msg }) => msg.endsWith('handed back')));
    open();
    await eventually('it is looked at', () => host.of('resolve-credentials').length === 1, { timeout: 5_000 });
    expect(host.of('resolve-credentials')[0]?.reason).toBe('Parked');
    await worksOn(host);
  });

  test('one that comes again and again is of a version that nobody here knows: its object is looked at', async () => {
    await delivery.startBridge([], 0);
    const host = await delivery.startHost(() => Promise.resolve(done()));
    const unknown = cloudEvent({ type: OBJECT_CHANGED.replace('.v1', '.v2') });
    for (let count = 0; count < UNKNOWN_VERSION_TRIES; count += 1) {
      await addRaw('resolve-credentials', unknown);
      await eventually('it is handed back', delivery.dueIn);
      // A bridge of that version sends it again when the time has come.
      await delivery.redis.del(keys.timers);
    }
    expect(host.seen).toEqual([]);
    await addRaw('resolve-credentials', unknown);
    await eventually('it is looked at', () => host.seen.length === 1);
    expect(host.seen[0]).toMatchObject({ functionName: 'resolve-credentials', reason: 'UnknownVersion' });
    await worksOn(host);
  });

  test.each([
    ['no event at all', { hello: 'world' }],
    ['an event about nothing', cloudEvent({ subject: 'nothing' })],
    ['an event of somebody else', cloudEvent({ type: 'com.example.other.v1' })],
  ])('%s is logged, and the worker goes on', async (_what, data) => {
    await delivery.begin();
    const host = await delivery.startHost(() => Promise.resolve(done()));
    await addRaw('resolve-credentials', data);
    await eventually('it is logged', () =>
      delivery.logged.some(({ msg, level }) => msg === 'event refused' && level >= 50),
    );
    expect(host.seen).toEqual([]);
    await worksOn(host);
  });

  test("another provider's event is refused: its object is not ours to hold", async () => {
    await delivery.begin();
    const host = await delivery.startHost(() => Promise.resolve(done()));
    await addRaw('resolve-credentials', cloudEvent({ source: '/serviceproviders/other/standard/onboarding' }));
    await eventually('it is logged', () => delivery.logged.some(({ msg }) => msg.includes('for another provider')));
    expect(host.seen).toEqual([]);
    await worksOn(host);
  });

  test('one in the wrong queue starts over instead of doing what it must not do', async () => {
    await delivery.begin();
    const host = await delivery.startHost(() => Promise.resolve(done()));
    await addRaw('access-teardown', cloudEvent({ type: DELETE_REQUESTED }));
    await eventually('its object is looked at', () => host.of('resolve-credentials').length === 1);
    expect(host.seen).toHaveLength(1);
    expect(host.seen[0]).toMatchObject({ object: member, reason: 'PreconditionFailed' });
    await worksOn(host);
  });
});
