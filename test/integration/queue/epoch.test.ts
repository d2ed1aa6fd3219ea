import pino from 'pino';
import { describe, expect, test } from 'vitest';
import { EpochKeeper } from '../../../bridge/upkeep/epoch.ts';
import type { FirstStart } from '../../../bridge/upkeep/first-start.ts';
import { DeliveryState } from '../../../shared/queue/delivery-state.ts';
import { keys, redisHarness, shop } from '../redis-harness.ts';

const harness = redisHarness('epoch-test');
const LEASE_MS = 60_000;

/** What the platform cluster remembers, for all replicas. */
class Mark implements FirstStart {
  left = false;
  /** While the platform cluster is asked. */
  meanwhile: () => Promise<unknown> = () => Promise.resolve();

  async claim(): Promise<boolean> {
    const first = !this.left;
    this.left = true;
    await this.meanwhile();
    return first;
  }

  leave(): Promise<void> {
    this.left = true;
    return Promise.resolve();
  }
}

function keeper(firstStart?: FirstStart, longestLeaseMs = LEASE_MS): EpochKeeper {
  const log = pino({ level: 'silent' });
  const options = { longestLeaseMs, log, onChanged: () => undefined, ...(firstStart ? { firstStart } : {}) };
  return new EpochKeeper(harness.state, options);
}
const granted = () => harness.state.acquire(shop, DeliveryState.token(), 1_000);

describe('an empty Redis', () => {
  test('at the first start of all grants leases at once', async () => {
    const epoch = keeper(new Mark());
    await epoch.check();
    expect([epoch.verified, epoch.quiet]).toEqual([true, false]);
    expect(await granted()).toBe(true);
  });

  test('without anything that tells of earlier lives waits for the longest lease', async () => {
    const epoch = keeper();
    await epoch.check();
    expect(epoch.quiet).toBe(true);
    expect(await granted()).toBe(false);
  });

  test('that was wiped while the bridge ran waits for the longest lease', async () => {
    const epoch = keeper(new Mark());
    await epoch.check();
    expect(await granted()).toBe(true);
    await harness.redis.flushall();
    await epoch.check();
    expect(await granted()).toBe(false);
  });

  test('that was wiped, or is another, while no bridge ran waits for the longest lease', async () => {
    const mark = new Mark();
    await keeper(mark).check();
    await harness.redis.flushall();
    const next = keeper(mark);
    await next.check();
    expect(next.quiet).toBe(true);
    expect(await granted()).toBe(false);
  });

  test('that was wiped after a version without marks has filled it, and this one took over', async () => {
    await harness.state.beginEpoch(0);
    const mark = new Mark();
    await keeper(mark).check();
    await harness.redis.flushall();
    await keeper(mark).check();
    expect(await granted()).toBe(false);
  });

  test('after a crash between the mark and the epoch waits for the longest lease', async () => {
    const mark = new Mark();
    mark.meanwhile = () => Promise.reject(new Error('died'));
    await expect(keeper(mark).check()).rejects.toThrow('died');
    mark.meanwhile = () => Promise.resolve();
    await keeper(mark).check();
    expect(await granted()).toBe(false);
  });

  test('is not begun upon twice: what another replica began meanwhile is not made shorter', async () => {
    const mark = new Mark();
    mark.meanwhile = () => harness.state.beginEpoch(LEASE_MS);
    await keeper(mark).check();
    expect(await granted()).toBe(false);
  });

  test('that was filled and wiped while the mark was asked for, however slow that was, waits', async () => {
    const mark = new Mark();
    const longest = 200;
    mark.meanwhile = async () => {
      // Another replica, which came second, and one who holds an object by its epoch.
      const second = keeper(mark, longest);
      mark.meanwhile = () => Promise.resolve();
      await second.check();
      for (;;) if (await granted()) break;
      await harness.redis.flushall();
    };
    const first = keeper(mark, longest);
    await first.check();
    expect(first.quiet).toBe(true);
    expect(await granted()).toBe(false);
  });

  test('is not begun upon where it is another server than the one that was looked at', async () => {
    const seen = { run: 'another', at: String(Date.now()) };
    expect(await harness.state.beginFirstEpoch(seen, LEASE_MS)).toBeUndefined();
    expect(await harness.redis.exists(keys.epoch)).toBe(0);
  });

  test('is not begun upon while the platform cluster does not answer; then it is', async () => {
    const mark = new Mark();
    let answers = false;
    mark.claim = () => (answers ? Promise.resolve(true) : Promise.reject(new Error('no answer')));
    const epoch = keeper(mark);
    await expect(epoch.check()).rejects.toThrow('no answer');
    expect([epoch.verified, epoch.problem]).toEqual([false, 'no answer']);
    answers = true;
    await epoch.check();
    expect([epoch.verified, epoch.problem]).toEqual([true, undefined]);
    expect(await granted()).toBe(true);
  });
});
