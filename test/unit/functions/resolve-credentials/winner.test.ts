import { describe, expect, test } from 'vitest';
import { winnerOf } from '../../../../functions/resolve-credentials/winner.ts';
import type { ServiceObject } from '../../../../shared/model/kubernetes.ts';
import { deleting, FINALIZER, serviceObject } from '../objects.ts';

const at = (second: number, uid: string, more: object = {}) =>
  serviceObject([], {
    uid,
    creationTimestamp: `2026-01-01T00:00:0${second}Z`,
    finalizers: [],
    ...more,
  });
/** An object a page. */
async function* inPages(objects: readonly ServiceObject[]) {
  for (const object of objects) yield { items: [object] };
}

const planted = { finalizers: [FINALIZER] };

describe('which object of a workspace is served', () => {
  test.each([
    ['the oldest', [at(2, 'b'), at(1, 'c'), at(3, 'a')], 'c'],
    ['of two of the same second the one with the smaller uid', [at(1, 'b'), at(1, 'a')], 'a'],
    ['not a younger one with our finalizer, which anybody can plant', [at(1, 'a'), at(2, 'b', planted)], 'a'],
    [
      'not one that is being deleted, with our finalizer or not',
      [at(1, 'a', { ...planted, ...deleting }), at(2, 'b')],
      'b',
    ],
    [
      'not one on its way out that was never served',
      [at(1, 'a', { ...deleting, finalizers: ['other/one'] }), at(2, 'b')],
      'b',
    ],
    ["another's finalizer is no claim", [at(1, 'a'), at(2, 'b', { finalizers: ['other/one'] })], 'a'],
    ['the only one', [at(1, 'a')], 'a'],
  ])('%s', async (_which, objects, winner) => {
    expect((await winnerOf(inPages(objects)))?.metadata.uid).toBe(winner);
    expect((await winnerOf(inPages(objects.toReversed())))?.metadata.uid).toBe(winner);
  });

  test('none where there is none, or only such as leave', async () => {
    expect(await winnerOf(inPages([]))).toBeUndefined();
    expect(await winnerOf(inPages([at(1, 'a', deleting)]))).toBeUndefined();
  });
});
