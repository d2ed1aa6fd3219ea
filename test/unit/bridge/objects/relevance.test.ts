import { describe, expect, test } from 'vitest';
import { freesItsWorkspace, relevance, vanished } from '../../../../bridge/objects/relevance.ts';
import type { SeenObject } from '../../../../bridge/objects/seen-objects.ts';

const object = (fields: Partial<SeenObject> = {}): SeenObject => ({
  group: 'onboarding',
  id: 'default/foo',
  uid: 'u1',
  generation: 1,
  createdAt: '2026-01-01T00:00:00Z',
  resourceVersion: '1',
  deleting: false,
  hasFinalizer: false,
  operation: undefined,
  ...fields,
});
const changed = (before: Partial<SeenObject>, now: Partial<SeenObject>) =>
  relevance({ kind: 'changed', before: object(before), now: object({ resourceVersion: '2', ...now }) }, 'watch', false);
const act = (reason: string, priority: string) => ({ act: true, reason, priority });
const skip = (because: string) => ({ act: false, because });

describe('an object that is new to the bridge', () => {
  test("is a user's change when it comes by the watch, or by a list after an interruption", () => {
    expect(relevance({ kind: 'added', now: object() }, 'watch', false)).toEqual(act('Added', 'user'));
    expect(relevance({ kind: 'added', now: object() }, 'relist', false)).toEqual(act('Added', 'user'));
  });

  test('is background work after a start', () => {
    expect(relevance({ kind: 'added', now: object() }, 'first-list', false)).toEqual(act('Resync', 'background'));
    expect(relevance({ kind: 'added', now: object({ deleting: true }) }, 'first-list', false)).toEqual(
      act('Resync', 'background'),
    );
  });

  test('is told as deleting when it is', () => {
    expect(relevance({ kind: 'added', now: object({ deleting: true }) }, 'watch', false)).toEqual(
      act('Deleting', 'user'),
    );
  });
});

describe('a change of a known object', () => {
  test('of the generation needs work', () => {
    expect(changed({}, { generation: 2 })).toEqual(act('Changed', 'user'));
  });

  test('to being deleted needs work', () => {
    expect(changed({}, { deleting: true, generation: 2 })).toEqual(act('Deleting', 'user'));
  });

  test('of the operation annotation needs work', () => {
    expect(changed({}, { operation: 'reconcile' })).toEqual(act('Changed', 'user'));
    expect(changed({ operation: 'ignore' }, {})).toEqual(act('Changed', 'user'));
  });

  test('that only removes the operation we did is our own write', () => {
    expect(changed({ operation: 'reconcile' }, {})).toEqual(skip('OperationDone'));
  });

  test('to another object of that name needs work', () => {
    expect(changed({}, { uid: 'u2' })).toEqual(act('Added', 'user'));
  });

  test('of status, labels or finalizers is skipped, also while it is being deleted', () => {
    expect(changed({}, {})).toEqual(skip('StatusOrMetadataOnly'));
    expect(changed({ deleting: true }, { deleting: true })).toEqual(skip('StatusOrMetadataOnly'));
  });

  test('that a new list finds unchanged is skipped', () => {
    expect(relevance({ kind: 'changed', before: object(), now: object() }, 'relist', false)).toEqual(skip('Unchanged'));
  });
});

test('an object that is gone, with something left of it, is looked at', () => {
  expect(relevance({ kind: 'gone', before: object() }, 'watch', true)).toEqual(act('ObjectGone', 'user'));
});

test('an object that is gone needs no work itself, and frees its workspace', () => {
  const gone = { kind: 'gone', before: object() } as const;
  expect(relevance(gone, 'watch', false)).toEqual(skip('ObjectGone'));
  expect(freesItsWorkspace(gone)).toBe(true);
});

test('an object that was replaced by another of its name frees its workspace; one that changed does not', () => {
  expect(freesItsWorkspace({ kind: 'changed', before: object(), now: object({ uid: 'u2' }) })).toBe(true);
  expect(freesItsWorkspace({ kind: 'changed', before: object(), now: object({ generation: 2 }) })).toBe(false);
  expect(freesItsWorkspace({ kind: 'added', now: object() })).toBe(false);
});

test('an object that lost our finalizer is looked at, also while it is being deleted', () => {
  expect(changed({ hasFinalizer: true }, { hasFinalizer: false })).toEqual(act('FinalizerLost', 'user'));
  expect(changed({ hasFinalizer: true, deleting: true }, { hasFinalizer: false, deleting: true })).toEqual(
    act('FinalizerLost', 'user'),
  );
});

test('an object that we held and that is gone without a deletion has vanished; others have not', () => {
  expect(vanished({ kind: 'gone', before: object({ hasFinalizer: true }) })).toBe(true);
  expect(vanished({ kind: 'gone', before: object({ hasFinalizer: true, deleting: true }) })).toBe(false);
  expect(vanished({ kind: 'gone', before: object() })).toBe(false);
});
