import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { startsOver } from '../../functions/host/settle.ts';
import { DELETE_REQUESTED, type EventType, OBJECT_CHANGED, TEARDOWN_REQUESTED } from '../../shared/events/catalogue.ts';
import { again, done, failed, type Outcome, waiting } from '../../shared/events/outcome.ts';
import { formatObjectKey } from '../../shared/model/object-key.ts';
import { eventually } from '../support/wait.ts';
import {
  answered,
  callFor,
  callsFor,
  CONCURRENCY,
  eventOf,
  jsonOf,
  type MakeRig,
  newKey,
  looksAgain,
  type Rig,
  RUN_LIMIT_MS,
} from './rig.ts';
import { eventsOf } from './suite-events.ts';

/** What every host of a function does, whatever it is. */
export function contract(name: string, makeRig: MakeRig): void {
  describe.each([name])('%s', () => {
    let rig: Rig;
    beforeAll(async () => {
      rig = await makeRig();
    });
    afterEach(() => rig.idle());
    afterAll(() => rig?.stop());

    describe('an outcome', () => {
      test.each<[string, Outcome, EventType[], (timer: number | undefined) => boolean]>([
        ['done', done(), [], (timer) => timer === undefined],
        ['done, and another function is next', done(TEARDOWN_REQUESTED), [TEARDOWN_REQUESTED], isNone],
        ['done, and a deletion is next', done(DELETE_REQUESTED), [DELETE_REQUESTED], isNone],
        ['done, and all starts over', done(OBJECT_CHANGED), [OBJECT_CHANGED], isNone],
        [
          'done, with two that follow',
          done(OBJECT_CHANGED, TEARDOWN_REQUESTED),
          [OBJECT_CHANGED, TEARDOWN_REQUESTED],
          isNone,
        ],
        ['again at once: a second is the least', again(0, 'Shutdown'), [], within(-5_000, 1_001)],
        ['again after a while', again(60_000, 'RequeueAfter'), [], within(50_000, 60_001)],
        ['again after a fraction of a second', again(61_234.5, 'RequeueAfter'), [], within(50_000, 61_300)],
        ['waiting: a safety timer', waiting('AccessRequest ns/name'), [], within(80_000, 145_000)],
        ['failed: backoff', failed('no route to host'), [], within(-5_000, 1_300)],
        ['failed for good: nothing by itself', failed('invalid spec', true), [], isNone],
      ])('%s', async (_name, outcome, next, timer) => {
        const effect = await answered(rig, outcome);
        expect(effect.next).toEqual(next);
        expect(timer(effect.timer), `timer ${effect.timer}`).toBe(true);
        const failure = outcome.kind === 'failed' && !outcome.permanent;
        expect(effect.failures).toBe(failure || startsOver(outcome) ? 1 : 0);
      });

      test('a function that throws has failed, and is tried again', async () => {
        expect(await answered(rig, new Error('boom'))).toMatchObject({ next: [], failures: 1 });
      });

      test('a message of any characters arrives', async () => {
        expect(await answered(rig, failed('Größe "zu klein"\n\tüber 3 ≤ 4 🙂'))).toMatchObject({ failures: 1 });
      });

      test('failures are counted until one that is none', async () => {
        const key = newKey();
        for (const [index, outcome] of [failed('a'), failed('b'), again(60_000, 'x')].entries()) {
          await rig.deliver(jsonOf(eventOf(key)));
          (await callFor(rig, key, index)).end(outcome);
          await rig.idle();
          expect((await rig.effect(key)).failures).toBe([1, 2, 0][index]);
        }
      });
    });

    eventsOf(() => rig);

    describe('the hold on an object', () => {
      test('lasts as long as the work, longer than a lease', async () => {
        const key = newKey();
        await rig.deliver(jsonOf(eventOf(key)));
        const call = await callFor(rig, key);
        await sleep(2_200);
        expect(await call.maySend()).toBe(true);
        expect(call.told).toEqual([]);
        call.end(done());
      });

      test('is one per object: others are worked on at the same time', async () => {
        const keys = Array.from({ length: CONCURRENCY }, () => newKey());
        await Promise.all(keys.map((key) => rig.deliver(jsonOf(eventOf(key)))));
        const calls = await Promise.all(keys.map((key) => callFor(rig, key)));
        expect(await Promise.all(calls.map((call) => call.maySend()))).toEqual(keys.map(() => true));
        for (const call of calls) call.end(done());
      });

      test('is bounded: more objects than that wait, and none is lost', async () => {
        const keys = Array.from({ length: CONCURRENCY + 2 }, () => newKey());
        const before = rig.calls.length;
        await Promise.all(keys.map((key) => rig.deliver(jsonOf(eventOf(key)))));
        await eventually('as many as may', () => rig.calls.length === before + CONCURRENCY);
        await sleep(300);
        expect(rig.calls.length).toBe(before + CONCURRENCY);
        for (const key of keys) (await callFor(rig, key)).end(done());
      });
    });

    describe('a process of the function that is killed', () => {
      test('in the middle of its work: the work is done again, when it has surely ended', async () => {
        const key = newKey();
        await rig.deliver(jsonOf(eventOf(key)));
        const first = await callFor(rig, key);
        await first.process.kill();
        await rig.another();
        await looksAgain(rig, key, RUN_LIMIT_MS + 20_000);
        const calls = callsFor(rig, formatObjectKey(key));
        calls.at(-1)?.end(done());
        await rig.idle();
        expect(calls.length).toBeLessThanOrEqual(2);
      });

      test('again when it is done again: the event is not given up', async () => {
        const key = newKey();
        const id = formatObjectKey(key);
        await rig.deliver(jsonOf(eventOf(key)));
        await (await callFor(rig, key)).process.kill();
        await rig.another();
        await looksAgain(rig, key, RUN_LIMIT_MS + 20_000, false);
        // Where it was handed to the new process at once, that one is killed too; otherwise a timer has it.
        const second = callsFor(rig, id)[1];
        if (second) {
          await second.process.kill();
          await rig.another();
          await looksAgain(rig, key, RUN_LIMIT_MS + 20_000);
        }
        const effect = await rig.effect(key);
        expect(callsFor(rig, id).length > 1 || effect.timer !== undefined || effect.next.length > 0).toBe(true);
        callsFor(rig, id).at(-1)?.end(done());
      });
    });

    test('a sender that is killed: what it began may not write when another has the object', async () => {
      if (!rig.crashSender) return;
      const key = newKey();
      await rig.deliver(jsonOf(eventOf(key)));
      const first = await callFor(rig, key);
      await rig.crashSender();
      await eventually('told to end', () => first.told.includes('LeaseLost'));
      expect(await first.maySend()).toBe(false);
      first.end(failed('told to end'));
      await looksAgain(rig, key, RUN_LIMIT_MS + 60_000);
      callsFor(rig, formatObjectKey(key)).at(-1)?.end(done());
    });

    test('a host that ends hands its work back', async () => {
      const key = newKey();
      await rig.deliver(jsonOf(eventOf(key)));
      const call = await callFor(rig, key);
      call.process.shutdown();
      await eventually('told to end', () => call.told.includes('Shutdown'));
      call.end(again(0, 'Shutdown'));
      await eventually('it is due at once', async () => ((await rig.effect(key)).timer ?? 9_999) <= 0);
      expect(callsFor(rig, formatObjectKey(key))).toHaveLength(1);
      await rig.another();
    });
  });
}

const isNone = (timer: number | undefined): boolean => timer === undefined;

function within(least: number, most: number): (timer: number | undefined) => boolean {
  return (timer) => timer !== undefined && timer >= least && timer <= most;
}
