import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { INSTALL_REQUESTED, OBJECT_CHANGED } from '../../../shared/events/catalogue.ts';
import { formatObjectKey } from '../../../shared/model/object-key.ts';
import { done } from '../../../shared/events/outcome.ts';
import { eventually } from '../../support/wait.ts';
import { keyOf, keys, member, shop } from '../redis-harness.ts';
import { Delivery, gate } from './harness.ts';

const delivery = new Delivery();

describe('nothing is lost', () => {
  test('a change that comes while its object is worked on is worked on afterwards: in the same queue', async () => {
    await delivery.begin();
    const { passed, open } = gate();
    const { seen } = await delivery.startHost(async () => {
      await passed;
      return done();
    });
    await delivery.publish();
    await eventually('it is worked on', () => seen.length === 1);
    for (let change = 0; change < 3; change++) await delivery.publish();
    await sleep(100);
    expect(seen).toHaveLength(1);
    open();
    await eventually('it is worked on again', () => seen.length === 2);
    await delivery.quiet();
    expect(seen).toHaveLength(2);
    expect(seen[1]?.startedAt).toBeGreaterThanOrEqual(seen[0]?.endedAt ?? Number.POSITIVE_INFINITY);
  });

  test('a change that comes while another function works on its object is worked on as soon as that ends', async () => {
    await delivery.begin();
    const { passed, open } = gate();
    const { seen, of } = await delivery.startHost(async (_event, _lease, name) => {
      if (name === 'provider-install') await passed;
      return done();
    });
    await delivery.publish(INSTALL_REQUESTED);
    await eventually('it is installed', () => seen.length === 1);
    await delivery.publish();
    await eventually('somebody came for it', async () => (await delivery.redis.zscore(keys.parked, member)) !== null);
    expect(of('resolve-credentials')).toEqual([]);
    open();
    // Without a bridge: the holder itself sends it on.
    await eventually('the change is worked on', () => of('resolve-credentials').length === 1);
    expect(of('resolve-credentials')[0]).toMatchObject({ reason: 'Parked' });
    await delivery.quiet();
  });

  test('an object that was parked before there was an epoch is worked on once there is one', async () => {
    const { seen } = await delivery.startHost(() => Promise.resolve(done()));
    await delivery.publish();
    await eventually('it is parked', async () => (await delivery.redis.zscore(keys.parked, member)) !== null);
    await delivery.startBridge([], 200);
    await eventually('it is worked on', () => seen.length === 1);
    expect(seen[0]?.reason).toBe('Parked');
    await delivery.quiet();
  });

  test('one that was parked under a holder who died is worked on once the lease has ended', async () => {
    await delivery.begin();
    const { seen } = await delivery.startHost(() => Promise.resolve(done()));
    expect(await delivery.state.acquire(shop, 'a holder who is dead', 400)).toBe(true);
    await delivery.publish();
    await eventually('it is parked', async () => (await delivery.redis.zscore(keys.parked, member)) !== null);
    await delivery.startBridge([]);
    await sleep(100);
    expect(seen).toEqual([]);
    await eventually('it is worked on', () => seen.length === 1);
    await delivery.quiet();
  });

  test('a worker that is stopped ends what it does, and takes no more', async () => {
    await delivery.begin();
    const { passed, open } = gate();
    const first = await delivery.startHost(
      async () => {
        await passed;
        return done();
      },
      ['resolve-credentials'],
      1,
    );
    await delivery.publish();
    await delivery.publish(OBJECT_CHANGED, keyOf('second'));
    await eventually('the first is worked on', () => first.seen.length === 1);
    const stopped = delivery.closing.pop()?.() as Promise<void>;
    await sleep(50);
    open();
    await stopped;
    expect(first.seen.map(({ outcome }) => outcome?.kind)).toEqual(['done']);
    const { seen } = await delivery.startHost(() => Promise.resolve(done()), ['resolve-credentials']);
    await eventually('the second waits for the next worker', () => seen.length === 1);
    expect(seen[0]?.object).toBe(formatObjectKey(keyOf('second')));
  });
});
