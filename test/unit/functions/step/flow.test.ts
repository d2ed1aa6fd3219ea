import { describe, expect, test } from 'vitest';
import {
  flowPosition,
  keepStarted,
  mayBeInstalled,
  neverStarted,
  REASONS_BEFORE_INSTALL,
} from '../../../../functions/step/flow.ts';
import { reportNotReady, reportProgressing, reportTerminating } from '../../../../shared/status.ts';
import { condition, deleting, marks, provider, serviceObject, standardKey } from '../objects.ts';

const uninstalled = condition('Uninstalled', 'True', 'Deleted');
const free = { ...deleting, finalizers: [] };
const installed = marks({ installed: 'uid-1 1' });
const removing = marks({ installed: 'uid-1 1', uninstalled: 'uid-1' });
const another = marks({ installed: 'uid-2 1', owner: { ...standardKey, name: 'other', uid: 'uid-2' } });
const adoptable = marks({ owner: undefined, madeByAnother: true });
const nobodys = marks({ owner: undefined });

describe('where an object is in its life', () => {
  test.each([
    ['not being deleted', serviceObject(), installed, 'install'],
    ['not being deleted, and not claimed yet', serviceObject([], { finalizers: [] }), undefined, 'install'],
    ['being deleted', serviceObject([], deleting), installed, 'delete'],
    ['being deleted, and marked', serviceObject([], deleting), removing, 'teardown'],
    [
      'being deleted, and marked though an earlier object of its name',
      serviceObject([], deleting),
      marks({ uninstalled: 'uid-0' }),
      'teardown',
    ],
    [
      'being deleted, with nothing left but its finalizer',
      serviceObject([uninstalled], deleting),
      undefined,
      'teardown',
    ],
    ['the same in a workspace that was given back', serviceObject([uninstalled], deleting), nobodys, 'teardown'],
    ['being deleted, and nothing was ever ordered', serviceObject([], deleting), undefined, 'delete'],
    [
      'being deleted, Uninstalled not true',
      serviceObject([condition('Uninstalled', 'False', 'X')], deleting),
      undefined,
      'delete',
    ],
    ['a condition that says so and no mark: forged', serviceObject([uninstalled], deleting), installed, 'delete'],
    ['the same where another runtime has installed', serviceObject([uninstalled], deleting), adoptable, 'delete'],
    ['not the one that is served, with our finalizer', serviceObject([uninstalled], deleting), another, 'not-served'],
    ['held by others only', serviceObject([], { ...deleting, finalizers: ['other/one'] }), undefined, 'finished'],
    ['held by others only, and not the one that is served', serviceObject([], free), another, 'finished'],
    ['uninstalled, but not held by us any more', serviceObject([uninstalled], free), undefined, 'finished'],
    ['our finalizer was taken away, and something is left', serviceObject([], free), installed, 'delete'],
    ['the same during the teardown', serviceObject([], free), removing, 'teardown'],
    ['without any finalizers', serviceObject([], free), nobodys, 'finished'],
  ])('%s', (_what, object, found, position) => {
    expect(flowPosition(object, { key: standardKey, provider }, found)).toBe(position);
  });
});

describe("whether the provider's delete has to run", () => {
  const ready = condition('Ready', 'True', 'ReconcileSuccess');

  test.each([
    ['marked, whatever the status says', serviceObject(), installed, true],
    ['made by another runtime', serviceObject(), adoptable, true],
    ['only the status says so', serviceObject([ready]), marks(), true],
    ['nothing says so', serviceObject(), marks(), false],
    ['nothing was ordered', serviceObject(), undefined, false],
  ])('%s', (_what, object, found, may) => {
    expect(mayBeInstalled(object, found)).toBe(may);
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
