import { describe, expect, test } from 'vitest';
import { winnerOf } from '../../../../functions/resolve-credentials/winner.ts';
import { deleting, FINALIZER, serviceObject } from '../objects.ts';

const at = (second: number, uid: string, more: object = {}) =>
  serviceObject([], {
    uid,
    creationTimestamp: `2026-01-01T00:00:0${second}Z`,
    finalizers: [],
    ...more,
  });
const claimed = { finalizers: [FINALIZER] };

describe('which object of a workspace is served', () => {
  test.each([
    ['the oldest', [at(2, 'b'), at(1, 'c'), at(3, 'a')], 'c'],
    ['of two of the same second the one with the smaller uid', [at(1, 'b'), at(1, 'a')], 'a'],
    ['the one that has been served already, though it is younger', [at(1, 'a'), at(2, 'b', claimed)], 'b'],
    ['that one also while it is being deleted', [at(1, 'a'), at(2, 'b', { ...claimed, ...deleting })], 'b'],
    ['the oldest of several that were served, as after a fault', [at(3, 'a', claimed), at(2, 'b', claimed)], 'b'],
    [
      'not one on its way out that was never served',
      [at(1, 'a', { ...deleting, finalizers: ['other/one'] }), at(2, 'b')],
      'b',
    ],
    ["another's finalizer is no claim", [at(1, 'a'), at(2, 'b', { finalizers: ['other/one'] })], 'a'],
    ['the only one', [at(1, 'a')], 'a'],
  ])('%s', (_which, objects, winner) => {
    expect(winnerOf(objects, FINALIZER)?.metadata.uid).toBe(winner);
    expect(winnerOf(objects.toReversed(), FINALIZER)?.metadata.uid).toBe(winner);
  });

  test('none where there is none, or only such as leave', () => {
    expect(winnerOf([], FINALIZER)).toBeUndefined();
    expect(winnerOf([at(1, 'a', deleting)], FINALIZER)).toBeUndefined();
  });

  test('the list is left as it was', () => {
    const objects = [at(2, 'b'), at(1, 'a')];
    winnerOf(objects, FINALIZER);
    expect(objects.map(({ metadata }) => metadata.uid)).toEqual(['b', 'a']);
  });
});
