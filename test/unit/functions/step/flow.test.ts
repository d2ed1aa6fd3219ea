import { describe, expect, test } from 'vitest';
import { flowPosition, keepStarted, neverStarted, REASONS_BEFORE_INSTALL } from '../../../../functions/step/flow.ts';
import { reportNotReady, reportProgressing, reportTerminating } from '../../../../shared/status.ts';
import { condition, deleting, FINALIZER, serviceObject } from '../objects.ts';

describe('where an object is in its life', () => {
  test.each([
    ['not being deleted', serviceObject(), 'install'],
    ['not being deleted, and not claimed yet', serviceObject([], { finalizers: [] }), 'install'],
    ['being deleted', serviceObject([], deleting), 'delete'],
    [
      'being deleted, Uninstalled not true',
      serviceObject([condition('Uninstalled', 'False', 'X')], deleting),
      'delete',
    ],
    [
      'being deleted and uninstalled',
      serviceObject([condition('Uninstalled', 'True', 'Deleted')], deleting),
      'teardown',
    ],
    ['being deleted, held by others only', serviceObject([], { ...deleting, finalizers: ['other/one'] }), 'finished'],
    [
      'uninstalled, but not held by us any more',
      serviceObject([condition('Uninstalled', 'True', 'Deleted')], { ...deleting, finalizers: [] }),
      'finished',
    ],
    ['being deleted without any finalizers', serviceObject([], { ...deleting, finalizers: [] }), 'finished'],
  ])('%s', (_what, object, position) => {
    expect(flowPosition(object, FINALIZER)).toBe(position);
  });
});

describe("whether the provider's createOrUpdate surely never ran", () => {
  test('no condition says anything', () => {
    expect(neverStarted(serviceObject())).toBe(true);
  });

  test.each(Object.values(REASONS_BEFORE_INSTALL))('the runtime gave the reason %s and got no further', (reason) => {
    expect(neverStarted(serviceObject([condition('Ready', 'False', reason)]))).toBe(true);
    expect(
      neverStarted(
        serviceObject([condition('Ready', 'False', reason), condition('InstallStarted', 'True', 'AccessGranted')]),
      ),
    ).toBe(false);
  });

  test.each([
    ['it is Ready', condition('Ready', 'True', 'ReconcileSuccess')],
    ['another runtime failed', condition('Ready', 'False', 'ReconcileError')],
    ['another runtime is at it', condition('Ready', 'False', 'Reconciling')],
    ['Ready is unknown, for a reason of ours', condition('Ready', 'Unknown', 'WaitingForAccessRequest')],
  ])('may have run: %s', (_why, ready) => {
    expect(neverStarted(serviceObject([ready]))).toBe(false);
  });
});

describe('a report keeps the only trace of an installation by another runtime', () => {
  const report = reportProgressing('WaitingForAccessRequest', 'waiting');
  const adopted = { type: 'InstallStarted', status: 'True', reason: 'Adopted' };

  test('an object that is Ready without our mark gets it', () => {
    const kept = keepStarted(serviceObject([condition('Ready', 'True', 'ReconcileSuccess')]), report);
    expect(kept.phase).toBe('Progressing');
    expect(kept.conditions).toEqual([report.conditions[0], expect.objectContaining(adopted)]);
  });

  test('after that report was written, the object still counts as started', () => {
    const kept = keepStarted(serviceObject([condition('Ready', 'False', 'ReconcileError')]), report);
    const after = serviceObject(kept.conditions.map((each) => ({ ...each, lastTransitionTime: '' })));
    expect(neverStarted(after)).toBe(false);
  });

  test.each([
    ['a new one', serviceObject()],
    ['one that waits for its access', serviceObject([condition('Ready', 'False', 'WaitingForAccessRequest')])],
    [
      'one that has the mark',
      serviceObject([
        condition('Ready', 'True', 'ReconcileSuccess'),
        condition('InstallStarted', 'True', 'AccessGranted'),
      ]),
    ],
  ])('not so %s', (_which, object) => {
    expect(keepStarted(object, report)).toBe(report);
  });

  test('a report that names the mark itself is left alone', () => {
    const own = {
      ...report,
      conditions: [{ type: 'InstallStarted', status: 'True' as const, reason: 'AccessGranted', message: '' }],
    };
    expect(keepStarted(serviceObject([condition('Ready', 'True', 'ReconcileSuccess')]), own)).toBe(own);
  });

  test('a false claim of adoption: an object that was never installed does not get the mark during its teardown', () => {
    const torn = serviceObject(
      [condition('Ready', 'False', 'Terminating'), condition('Uninstalled', 'True', 'NeverInstalled')],
      deleting,
    );
    const next = reportTerminating('WaitingForAccessRequestDeletion', 'waiting');
    expect(keepStarted(torn, next)).toBe(next);
  });

  test('a reason that turns on itself: waiting for a deleted request does not make an object count as started', () => {
    for (const reason of [
      'WaitingForAccessRequestDeletion',
      'WaitingForClusterRequestDeletion',
      'RequestKeepsChanging',
    ]) {
      const waits = serviceObject([condition('Ready', 'False', reason)]);
      const next = reportNotReady(waits, 'WaitingForAccessRequest', 'waiting');
      expect(keepStarted(waits, next)).toBe(next);
      expect(neverStarted(waits)).toBe(true);
    }
  });
});
