import { describe, expect, test } from 'vitest';
import { epochStep, markAnswer, mayBeFirst } from '../../../../bridge/upkeep/decide-epoch.ts';

const known = (current: string | undefined, ...past: string[]) => ({ current, past: new Set(past) });

describe('the epoch that a bridge reads', () => {
  test('is kept while it is the one it knows, on the same server', () => {
    expect(epochStep({ id: 'a', sameServer: true }, known('a'))).toBe('keep');
  });

  test('is begun when there is none: Redis was wiped, or is new', () => {
    expect(epochStep({ id: '', sameServer: false }, known('a'))).toBe('begin');
    expect(epochStep({ id: '', sameServer: false }, known(undefined))).toBe('begin');
  });

  test('is begun when another server answers: after a failover or a restart writes may be lost', () => {
    expect(epochStep({ id: 'a', sameServer: false }, known('a'))).toBe('begin');
  });

  test('is begun when an earlier one is back: Redis was set back to an older state', () => {
    expect(epochStep({ id: 'a', sameServer: true }, known('b', 'a'))).toBe('begin');
  });

  test('is taken over when another bridge began it, or this bridge has just started', () => {
    expect(epochStep({ id: 'b', sameServer: true }, known('a'))).toBe('adopt');
    expect(epochStep({ id: 'b', sameServer: true }, known(undefined))).toBe('adopt');
  });
});

describe('the first start of all', () => {
  test('is only thought of where Redis has nothing, and this process has never seen it have anything', () => {
    expect(mayBeFirst({ id: '' }, known(undefined))).toBe(true);
    expect(mayBeFirst({ id: '' }, known('a'))).toBe(false);
    expect(mayBeFirst({ id: 'a' }, known(undefined))).toBe(false);
  });

  test.each([
    ['there', 409, true],
    ['impossible', 403, false],
    ['impossible', 404, false],
    ['impossible', 409, false],
    ['impossible', 422, false],
    ['unknown', 0, false],
    ['unknown', 401, false],
    ['unknown', 429, false],
    ['unknown', 500, false],
    ['unknown', 503, false],
  ])('the mark is %s after an answer of %s (it exists: %s)', (meaning, status, exists) => {
    expect(markAnswer(status, exists)).toBe(meaning);
  });
});
