import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { type EventType, RECEIVER } from '../../../shared/events/catalogue.ts';
import { formatObjectKey, type ObjectKey } from '../../../shared/model/object-key.ts';
import { done, type Outcome } from '../../../shared/events/outcome.ts';
import { keyOf } from '../redis-harness.ts';
import { Delivery, mostAtOnce } from './harness.ts';

const delivery = new Delivery();

describe('one at a time', () => {
  test('an object is never in two invocations, across all queues and workers, and its last change is worked on', async () => {
    const objects = ['a', 'b', 'c', 'd'].map((name) => keyOf(name));
    await delivery.startBridge(objects, 0);
    const handler = async (): Promise<Outcome> => {
      await sleep(Math.random() * 6);
      return done();
    };
    const hosts = await Promise.all([delivery.startHost(handler), delivery.startHost(handler)]);
    const types = Object.keys(RECEIVER) as EventType[];
    const lastPublished = new Map<string, number>();
    for (let round = 0; round < 150; round++) {
      const key = objects[round % objects.length] as ObjectKey;
      lastPublished.set(formatObjectKey(key), performance.now());
      await delivery.publish(types[Math.floor(round / 4) % types.length], key);
    }
    await delivery.quiet();
    const seen = hosts.flatMap((host) => host.seen);
    expect(mostAtOnce(seen, ({ object }) => object)).toBe(1);
    // Different objects do run side by side, and objects were fought for: else this proves nothing.
    expect(mostAtOnce(seen, () => 'all')).toBeGreaterThan(1);
    expect(delivery.logged.filter(({ msg }) => msg.includes('parked')).length).toBeGreaterThan(5);
    for (const host of hosts) expect(host.seen.length).toBeGreaterThan(10);
    for (const [object, published] of lastPublished) {
      const last = Math.max(...seen.filter((one) => one.object === object).map(({ startedAt }) => startedAt));
      expect(last).toBeGreaterThan(published);
    }
  });
});
