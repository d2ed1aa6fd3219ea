import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker as Thread } from 'node:worker_threads';
import { describe, expect, test } from 'vitest';
import { INSTALL_REQUESTED } from '../../../shared/events/catalogue.ts';
import { again, done, failed } from '../../../shared/events/outcome.ts';
import { clientFor } from '../../../shared/kube/connect.ts';
import { CONFIG_MAPS } from '../../../shared/kube/resources.ts';
import { eventually } from '../../support/wait.ts';
import { keys, member, PROVIDER, shop } from '../redis-harness.ts';
import type { ThreadOrder, ThreadReport } from './blocking-thread.ts';
import { Delivery, gate, type Seen, TIMES } from './harness.ts';

const delivery = new Delivery();

describe('a lease that is lost', () => {
  test('Redis wiped in the middle: the outcome does not count, and the object is looked at again', async () => {
    await delivery.startBridge([shop], 300);
    const { passed, open } = gate();
    const { of, seen, steps } = await delivery.startHost(async (_event, _lease, name) => {
      if (name === 'resolve-credentials' && seen.length === 1) {
        await passed;
        return done(INSTALL_REQUESTED);
      }
      return done();
    });
    await eventually('it is worked on', () => seen.length === 1);
    await delivery.redis.flushall();
    open();
    await eventually('it is looked at again', () => of('resolve-credentials').length >= 2);
    await delivery.quiet();
    expect(steps[0]?.outcome).toEqual(done(INSTALL_REQUESTED));
    expect(of('provider-install')).toEqual([]);
    expect(of('resolve-credentials')[1]?.reason).toMatch(/^(LeaseLost|EpochChanged|Parked)$/);
    expect(delivery.logged.some(({ msg }) => msg === 'the lease was lost during the invocation')).toBe(true);
  });

  test('after a wipe nobody is handed an object that may still be held by one who does not know', async () => {
    const QUIET_MS = 500;
    await delivery.startBridge([shop], QUIET_MS);
    const { seen } = await delivery.startHost(() => Promise.resolve(done()));
    await eventually('it is worked on', () => seen.length === 1);
    await delivery.quiet();
    const wiped = performance.now();
    await delivery.redis.flushall();
    await eventually('it is worked on again', () => seen.length === 2);
    expect((seen[1] as Seen).startedAt - wiped).toBeGreaterThanOrEqual(QUIET_MS);
  });

  test('taken away in the middle: neither timer nor count is touched, and the next events are not sent', async () => {
    await delivery.begin();
    const { passed, open } = gate();
    const { of, seen } = await delivery.startHost(async () => {
      if (seen.length > 1) return done();
      await passed;
      return failed('stale');
    });
    await delivery.publish(INSTALL_REQUESTED);
    await eventually('it is worked on', () => seen.length === 1);
    await delivery.redis.set(keys.lease(member), 'another holder', 'PX', 300);
    open();
    await eventually('it is sent back', async () => (await delivery.redis.zscore(keys.parked, member)) !== null);
    expect(await delivery.dueIn()).toBeUndefined();
    expect(await delivery.state.attempts(shop)).toBe(0);
    await delivery.startBridge([], 0);
    await eventually('it is looked at', () => of('resolve-credentials').length === 1);
    await delivery.quiet();
  });

  test('its holder is told at the next renewal, and sends nothing more', async () => {
    await delivery.begin();
    let said: unknown;
    const { seen } = await delivery.startHost(async (_event, lease) => {
      if (seen.length > 1) return done();
      lease.guard();
      await delivery.redis.del(keys.lease(member));
      await once(lease.signal, 'abort');
      said = lease.signal.reason;
      expect(() => lease.guard()).toThrow(expect.objectContaining({ code: 'STALE_HOLDER' }) as Error);
      return done();
    });
    await delivery.publish();
    await eventually('it was told', () => said !== undefined);
    expect(said).toBe('LeaseLost');
    await delivery.quiet();
  });

  test('Redis hangs for longer than the lease: the holder stops by its own clock, without an answer', async () => {
    await delivery.begin();
    let refusedAfter: number | undefined;
    const { seen } = await delivery.startHost(async (_event, lease) => {
      if (seen.length > 1) return done();
      delivery.server.signal('SIGSTOP');
      const stopped = performance.now();
      try {
        while (refusedAfter === undefined) {
          await sleep(10);
          try {
            lease.guard();
          } catch {
            refusedAfter = performance.now() - stopped;
          }
        }
      } finally {
        delivery.server.signal('SIGCONT');
      }
      return done();
    });
    await delivery.publish();
    await eventually('it stopped', () => refusedAfter !== undefined);
    expect(refusedAfter).toBeLessThanOrEqual(TIMES.leaseMs - TIMES.marginMs + 60);
    await delivery.quiet();
  });

  test('a request that its server does not answer does not outlive the lease', async () => {
    await delivery.begin();
    const server = createServer(() => undefined).listen(0, '127.0.0.1');
    await once(server, 'listening');
    delivery.closing.push(() => {
      server.closeAllConnections();
      server.close();
    });
    const { port } = server.address() as AddressInfo;
    const api = clientFor({ server: `http://127.0.0.1:${port}` });
    let refused: unknown;
    let refusedAfter: number | undefined;
    const { seen } = await delivery.startHost(async (_event, lease) => {
      if (seen.length > 1) return done();
      delivery.server.signal('SIGSTOP');
      const stopped = performance.now();
      refused = await api
        .fenced(lease.guard, lease.lost)
        .mergePatch(CONFIG_MAPS, 'x', {}, { namespace: 'x' })
        .catch((error: unknown) => error);
      refusedAfter = performance.now() - stopped;
      delivery.server.signal('SIGCONT');
      return done();
    });
    await delivery.publish();
    await eventually('it has ended', () => refusedAfter !== undefined);
    expect(refused).toMatchObject({ code: 'STALE_HOLDER' });
    expect(refusedAfter).toBeLessThanOrEqual(TIMES.leaseMs);
    await delivery.quiet();
  });

  test('a lock lost while working: an event loop that blocks longer than the lease stops at its next guard', async () => {
    await delivery.startBridge([], 0);
    const order: ThreadOrder = { url: delivery.server.url, provider: PROVIDER, times: TIMES, blockMs: 2_000 };
    const thread = new Thread(new URL('./blocking-thread.ts', import.meta.url), { workerData: order });
    delivery.closing.push(() => thread.terminate());
    const reports: ThreadReport[] = [];
    thread.on('message', (report: ThreadReport) => reports.push(report));
    await eventually('the other worker is ready', () => reports.includes('ready'));
    await delivery.publish(INSTALL_REQUESTED);
    await eventually('the other worker blocks', () => reports.includes('blocking'));

    const { seen, of } = await delivery.startHost(() => Promise.resolve(again(77_000, 'x')), ['resolve-credentials']);
    await delivery.publish();
    await eventually('the object is taken over', () => of('resolve-credentials').length === 1, { timeout: 1_500 });
    expect(reports).not.toContain('goes on');
    await eventually('the blocked one is through', () => reports.includes('lease lost'));
    expect(reports).toEqual(['ready', 'blocking', 'refused: STALE_HOLDER', 'lease lost']);
    await delivery.quiet();
    // Its failure set no timer and counted nothing; only that it was lost is looked into.
    expect(await delivery.state.attempts(shop)).toBe(0);
    expect(await delivery.dueIn()).toBeGreaterThan(70_000);
    expect(seen.map(({ reason }) => reason)).toContain('LeaseLost');
  });

  test('an answer of Redis that fails the job after the invocation ends the lease all the same', async () => {
    await delivery.startBridge([]);
    const { seen } = await delivery.startHost(() => Promise.resolve(seen.length > 1 ? done() : failed('no luck')));
    // Read between the outcome and its settling.
    await delivery.redis.set(keys.attempts, 'no hash');
    await delivery.publish();
    await eventually('it is worked on', () => seen.length === 1);
    await delivery.redis.del(keys.attempts);
    await eventually('it is worked on again', () => seen.length === 2, { timeout: 5_000 });
    expect((seen[1] as Seen).startedAt - (seen[0] as Seen).startedAt).toBeGreaterThan(TIMES.leaseMs / 2);
    await delivery.quiet();
  });
});
