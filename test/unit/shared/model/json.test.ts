import { describe, expect, test } from 'vitest';
import { equal, mergePatchOf } from '../../../../shared/model/json.ts';

describe('equality of JSON values', () => {
  test.each([
    [1, 1],
    [null, null],
    [undefined, undefined],
    [
      { a: 1, b: [{ c: null }] },
      { b: [{ c: null }], a: 1 },
    ],
    [{ a: 1, b: undefined }, { a: 1 }],
    [[], []],
  ])('%j and %j are equal', (a, b) => {
    expect(equal(a, b)).toBe(true);
    expect(equal(b, a)).toBe(true);
  });

  test.each([
    [1, '1'],
    [null, undefined],
    [{}, []],
    [{ a: null }, {}],
    [{ a: 1 }, { b: 1 }],
    [
      [1, 2],
      [2, 1],
    ],
    [[1], [1, 2]],
    [{ a: { b: 1 } }, { a: { b: 2 } }],
  ])('%j and %j are not', (a, b) => {
    expect(equal(a, b)).toBe(false);
    expect(equal(b, a)).toBe(false);
  });
});

describe('the merge patch between two values', () => {
  test.each([
    ['nothing to do', { a: { b: [1] } }, { a: { b: [1] } }, undefined],
    ['a field that changes', { a: 1, b: 2 }, { a: 1, b: 3 }, { b: 3 }],
    ['a field that goes', { a: 1, b: 2 }, { a: 1 }, { b: null }],
    ['a field that goes inside', { a: { b: 1, c: 2 } }, { a: { b: 1 } }, { a: { c: null } }],
    ['lists are replaced as a whole', { a: [1, 2] }, { a: [1] }, { a: [1] }],
    ['a value of another kind', { a: { b: 1 } }, { a: 'x' }, { a: 'x' }],
    ['an object where there was a list', { a: [1] }, { a: { b: 1 } }, { a: { b: 1 } }],
    ['an empty object that is new', {}, { a: {} }, { a: {} }],
    ['null is the same as none', {}, { a: null, b: { c: null } }, { b: {} }],
    ['everything goes', { a: 1 }, undefined, null],
    ['all is new', undefined, { a: 1 }, { a: 1 }],
    ['there was nothing and is nothing', undefined, null, undefined],
  ])('%s', (_what, before, after, patch) => {
    expect(mergePatchOf(before, after)).toEqual(patch);
  });
});
