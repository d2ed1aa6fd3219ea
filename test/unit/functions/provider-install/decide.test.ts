import { describe, expect, test } from 'vitest';
import { decideNextLook, markInstallStarted, mayInstall } from '../../../../functions/provider-install/decide.ts';
import { done } from '../../../../shared/events/outcome.ts';
import { condition, deleting, marks, provider, serviceObject, standardKey } from '../objects.ts';

describe('whose turn it is', () => {
  const marked = marks({ installed: 'uid-1 1' });

  test.each([
    ['marked and not being deleted', serviceObject(), marked, true],
    ['without our finalizer', serviceObject([], { finalizers: ['other/one'] }), marked, false],
    ['being deleted', serviceObject([], deleting), marked, false],
    ['marked in an earlier state', serviceObject([], { generation: 2 }), marked, false],
    ['not marked', serviceObject(), marks(), false],
    ['nothing was ordered', serviceObject(), undefined, false],
    ['its removal has begun', serviceObject(), marks({ installed: 'uid-1 1', uninstalled: 'uid-1' }), false],
    [
      'its workspace is served by another',
      serviceObject(),
      marks({ installed: 'uid-1 1', owner: { ...standardKey, name: 'b', uid: 'uid-2' } }),
      false,
    ],
    [
      'an earlier incarnation had it',
      serviceObject(),
      marks({ installed: 'uid-1 1', owner: { ...standardKey, uid: 'uid-0' } }),
      false,
    ],
  ])('%s', (_what, object, found, may) => {
    expect(mayInstall(object, { key: standardKey, provider }, found)).toBe(may);
  });
});

describe('the mark before the provider does anything', () => {
  test('is set with the object Progressing', () => {
    expect(markInstallStarted(serviceObject())).toEqual({
      phase: 'Progressing',
      conditions: [
        { type: 'Ready', status: 'False', reason: 'Reconciling', message: 'Reconcile in progress' },
        { type: 'InstallStarted', status: 'True', reason: 'AccessGranted', message: 'The installation has begun' },
      ],
    });
  });

  test('is set once', () => {
    expect(markInstallStarted(serviceObject([condition('InstallStarted', 'True', 'AccessGranted')]))).toBeUndefined();
  });

  test('leaves an object that another runtime has brought to Ready as ready as it was', () => {
    const ready = condition('Ready', 'True', 'ReconcileSuccess', 'served');
    const report = markInstallStarted(serviceObject([ready]));
    expect(report?.phase).toBe('Ready');
    expect(report?.conditions[0]).toBe(ready);
    expect(report?.conditions[1]).toMatchObject({ type: 'InstallStarted', status: 'True' });
  });
});

describe('when an installed object is looked at again', () => {
  const now = new Date('2026-01-01T00:00:00Z');
  const inMs = (ms: number): Date => new Date(now.getTime() + ms);

  type Given = [...Parameters<typeof decideNextLook>] extends [...infer All, number]
    ? [...All, random?: number]
    : never;

  test.each<[string, Given, ReturnType<typeof decideNextLook>]>([
    ['never, where nobody asks for it', [undefined, undefined, undefined, now], done()],
    ['never by a poll interval of nought', [undefined, 0, undefined, now], done()],
    [
      'at the poll interval',
      [undefined, 60_000, undefined, now],
      { kind: 'again', afterMs: 60_000, reason: 'PollInterval' },
    ],
    [
      'when the provider asks, rather than at the poll interval',
      [{ requeueAfter: '2m' }, 60_000, undefined, now],
      { kind: 'again', afterMs: 120_000, reason: 'RequeueAfter' },
    ],
    [
      "at the poll interval, where the provider returns Go's zero value",
      [{ requeueAfter: 0 }, 60_000, undefined, now],
      { kind: 'again', afterMs: 60_000, reason: 'PollInterval' },
    ],
    ['never, where it does and nobody else asks', [{ requeueAfter: '0s' }, undefined, undefined, now], done()],
    [
      'exactly when the provider asks, whatever the others do',
      [{ requeueAfter: '90s' }, 60_000, undefined, now, 0],
      { kind: 'again', afterMs: 90_000, reason: 'RequeueAfter' },
    ],
    [
      'a tenth earlier at the earliest by a poll interval',
      [undefined, 60_000, undefined, now, 0],
      { kind: 'again', afterMs: 54_000, reason: 'PollInterval' },
    ],
    [
      'a tenth later at the latest',
      [undefined, 60_000, undefined, now, 1],
      { kind: 'again', afterMs: 66_000, reason: 'PollInterval' },
    ],
    [
      'when the access ends before that',
      [undefined, 60_000, inMs(5_000), now],
      { kind: 'again', afterMs: 5_000, reason: 'RenewAccess' },
    ],
    [
      'not earlier than asked, where the access lasts',
      [undefined, 60_000, inMs(90_000), now],
      { kind: 'again', afterMs: 60_000, reason: 'PollInterval' },
    ],
    [
      'for the renewal alone',
      [undefined, undefined, inMs(5_000), now],
      { kind: 'again', afterMs: 5_000, reason: 'RenewAccess' },
    ],
    [
      'at once for a renewal that is overdue',
      [undefined, undefined, inMs(-1), now],
      { kind: 'again', afterMs: 0, reason: 'RenewAccess' },
    ],
  ])('%s', (_when, given, outcome) => {
    const [result, pollIntervalMs, renewAt, at, random = 0.5] = given;
    expect(decideNextLook(result, pollIntervalMs, renewAt, at, random)).toEqual(outcome);
  });

  test.each([['soon'], [-1], [Number.NaN], [Number.POSITIVE_INFINITY], ['-5s']])(
    'a provider that asks for %s is told what is wrong',
    (requeueAfter) => {
      expect(() => decideNextLook({ requeueAfter }, undefined, undefined, now, 0.5)).toThrow(
        expect.objectContaining({
          code: 'INVALID_PROVIDER',
          message: expect.stringContaining('requeueAfter') as string,
        }) as Error,
      );
    },
  );
});
