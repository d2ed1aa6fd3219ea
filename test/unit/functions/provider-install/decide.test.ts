import { describe, expect, test } from 'vitest';
import { decideNextLook, markInstallStarted, mayInstall } from '../../../../functions/provider-install/decide.ts';
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

  test.each<[string, Parameters<typeof decideNextLook>, ReturnType<typeof decideNextLook>]>([
    ['never, where nobody asks for it', [undefined, undefined, undefined, now], { kind: 'done', next: [] }],
    ['never by a poll interval of nought', [undefined, 0, undefined, now], { kind: 'done', next: [] }],
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
      'at once, where the provider says so',
      [{ requeueAfter: 0 }, 60_000, undefined, now],
      { kind: 'again', afterMs: 0, reason: 'RequeueAfter' },
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
    expect(decideNextLook(...given)).toEqual(outcome);
  });

  test.each([['soon'], [-1], [Number.NaN], [Number.POSITIVE_INFINITY], ['-5s']])(
    'a provider that asks for %s is told what is wrong',
    (requeueAfter) => {
      expect(() => decideNextLook({ requeueAfter }, undefined, undefined, now)).toThrow(
        expect.objectContaining({
          code: 'INVALID_PROVIDER',
          message: expect.stringContaining('requeueAfter') as string,
        }) as Error,
      );
    },
  );
});
