import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import {
  DELETE_REQUESTED,
  INSTALL_REQUESTED,
  OBJECT_CHANGED,
  TEARDOWN_REQUESTED,
} from '../../../shared/events/catalogue.ts';
import { again, done, failed, waiting } from '../../../shared/events/outcome.ts';
import { eventually } from '../../support/wait.ts';
import { keyOf, keys, member, shop, setTimer } from '../redis-harness.ts';
import { Delivery, type Seen } from './harness.ts';

const delivery = new Delivery();

describe('outcomes', () => {
  test('a step that is done sends the next one, with its own priority', async () => {
    await delivery.begin();
    const { of } = await delivery.startHost(() => Promise.resolve(done(INSTALL_REQUESTED)), ['resolve-credentials']);
    await delivery.publish(OBJECT_CHANGED, keyOf('background'), 'background');
    await delivery.publish(OBJECT_CHANGED, keyOf('user'), 'user');
    await eventually('both are through', () => of('resolve-credentials').filter(({ outcome }) => outcome).length === 2);
    const jobs = await eventually('both are sent on', async () => {
      const found = await delivery.queue('provider-install').getJobs(['waiting', 'prioritized']);
      return found.length === 2 && found;
    });
    const priorities = jobs.map((job) => [(job.data as { subject: string }).subject.split('/')[1], job.priority]);
    expect(Object.fromEntries(priorities)).toEqual({ background: 10, user: 0 });
    expect(jobs[0]?.data).toMatchObject({ type: INSTALL_REQUESTED, reason: 'NextStep' });
  });

  test('a flow that ends in silence: a step whose precondition is false sends its object back to the start', async () => {
    await delivery.begin();
    const { of } = await delivery.startHost((_event, _lease, name) =>
      Promise.resolve(name === 'provider-delete' ? done(OBJECT_CHANGED) : done()),
    );
    await delivery.publish(DELETE_REQUESTED);
    await eventually('it is back at the start', () => of('resolve-credentials').length === 1);
    expect(of('resolve-credentials')[0]?.reason).toBe('PreconditionFailed');
    await delivery.quiet();
  });

  test('a failure backs off by a timer, longer each time; success forgets that', async () => {
    await delivery.startBridge([], 0);
    let failures = 2;
    const { seen } = await delivery.startHost(() => Promise.resolve(failures-- > 0 ? failed('broken') : done()));
    await delivery.publish();
    const first = await eventually('a timer after the first failure', delivery.dueIn);
    expect(first).toBeGreaterThan(500);
    expect(first).toBeLessThanOrEqual(1_200);
    expect(await delivery.state.attempts(shop)).toBe(1);
    await eventually('it is tried again', () => seen.length === 2);
    const [one, two] = seen as [Seen, Seen];
    expect(two.startedAt - one.startedAt).toBeGreaterThanOrEqual(790);
    expect(two.reason).toBe('Timer');
    const second = await eventually('a timer after the second failure', delivery.dueIn);
    expect(second).toBeGreaterThan(1_300);
    expect(second).toBeLessThanOrEqual(2_400);
    expect(await delivery.state.attempts(shop)).toBe(2);
    await eventually('it is tried a third time', () => seen.length === 3);
    await delivery.quiet();
    expect(await delivery.state.attempts(shop)).toBe(0);
    expect(await delivery.dueIn()).toBeUndefined();
  });

  test("a user's change wakes an object out of its backoff at once", async () => {
    await delivery.startBridge([], 0);
    let failures = 1;
    const { seen } = await delivery.startHost(() => Promise.resolve(failures-- > 0 ? failed('broken') : done()));
    await delivery.redis.hset(keys.attempts, member, 20);
    await delivery.publish();
    expect(await eventually('a long timer', delivery.dueIn)).toBeGreaterThan(200_000);
    const changed = performance.now();
    await delivery.publish();
    await eventually('it is worked on', () => seen.length === 2);
    expect(performance.now() - changed).toBeLessThan(1_000);
    await delivery.quiet();
    expect(await delivery.dueIn()).toBeUndefined();
  });

  test('an error that escapes a handler is a failure like any other, not a job that is tried in a tight loop', async () => {
    await delivery.begin();
    const { seen, steps } = await delivery.startHost(() => Promise.reject(new Error('escaped')));
    await delivery.publish();
    await eventually('a timer', delivery.dueIn);
    await sleep(200);
    expect(seen).toHaveLength(1);
    expect(steps.map(({ outcome }) => outcome)).toEqual([{ kind: 'failed', message: 'escaped', permanent: false }]);
  });

  test.each([
    ['done', done(), undefined],
    ['a permanent failure', failed('never', true), undefined],
    ['again', again(40_000, 'x'), [39_000, 40_000]],
    ['waiting', waiting('x'), [95_000, 144_000]],
  ] as const)('a timer that was set before is replaced by %s', async (_what, outcome, expected) => {
    await delivery.begin();
    await setTimer(delivery.redis, shop, 1_000_000);
    const { steps } = await delivery.startHost(() => Promise.resolve(outcome));
    await delivery.publish();
    await eventually('the step is through', () => steps.length === 1);
    const due = await delivery.dueIn();
    expect(due === undefined ? undefined : due > (expected?.[0] ?? 0) && due <= (expected?.[1] ?? 0)).toBe(
      expected ? true : undefined,
    );
  });

  test('a pass that goes on leaves the timer alone', async () => {
    await delivery.begin();
    await setTimer(delivery.redis, shop, 1_000_000);
    const { steps } = await delivery.startHost(
      () => Promise.resolve(done(TEARDOWN_REQUESTED)),
      ['resolve-credentials'],
    );
    await delivery.publish();
    await eventually('the step is through', () => steps.length === 1);
    expect(await delivery.dueIn()).toBeGreaterThan(990_000);
  });

  test('two steps that send an object to and fro do so ever more slowly, and a change is worked on at once', async () => {
    await delivery.startBridge([], 0);
    let through = false;
    const { seen, of } = await delivery.startHost((_event, _lease, name) =>
      Promise.resolve(through ? done() : done(name === 'provider-install' ? OBJECT_CHANGED : INSTALL_REQUESTED)),
    );
    await delivery.publish();
    await eventually('it is given a pause', delivery.dueIn);
    await sleep(2_000);
    // Three times for nothing, then after 1, 2, 4 s.
    expect(of('provider-install').length).toBeGreaterThanOrEqual(4);
    expect(of('provider-install').length).toBeLessThanOrEqual(6);
    through = true;
    const before = seen.length;
    const changed = performance.now();
    await delivery.publish();
    await eventually('it is worked on', () => seen.length > before);
    expect(performance.now() - changed).toBeLessThan(1_000);
    await delivery.quiet();
    expect(await delivery.state.attempts(shop)).toBe(0);
  });
});
