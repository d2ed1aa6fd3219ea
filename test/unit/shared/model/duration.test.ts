import { describe, expect, test } from 'vitest';
import { milliseconds, parseGoDuration, requeueMs } from '../../../../shared/model/duration.ts';

describe('Go durations', () => {
  test.each([
    ['0', 0],
    ['0s', 0],
    ['500ms', 500],
    ['1.5s', 1_500],
    ['.5s', 500],
    ['1.s', 1_000],
    ['1m', 60_000],
    ['1h30m', 5_400_000],
    ['2h0m3.25s', 7_203_250],
    ['1us', 0.001],
    ['1µs', 0.001],
    ['1μs', 0.001],
    ['1ns', 0.000001],
    ['-2s', -2_000],
    ['+2s', 2_000],
  ])('%s', (text, expected) => {
    expect(parseGoDuration(text)).toBeCloseTo(expected, 9);
  });

  test.each([
    '',
    '-',
    '5',
    '1 s',
    ' 1s',
    '1s ',
    '1d',
    '1day',
    's',
    '.s',
    '1h-30m',
    '--1s',
    '+-1s',
    '1S',
    '1e3s',
    'NaN',
  ])('%j is none', (text) => {
    expect(parseGoDuration(text)).toBeUndefined();
  });

  test('one that is none does not spoil the next', () => {
    expect(parseGoDuration('1h1x')).toBeUndefined();
    expect(parseGoDuration('1h')).toBe(3_600_000);
  });
});

describe('what a provider gives', () => {
  test('is milliseconds or a duration', () => {
    expect(milliseconds(1_500, 'f')).toBe(1_500);
    expect(milliseconds('1m', 'f')).toBe(60_000);
  });

  test.each([[-1], [Number.NaN], [Number.POSITIVE_INFINITY], ['soon'], ['-1s'], [`${'9'.repeat(400)}h`]])(
    '%s is refused by the name of its field',
    (value) => {
      expect(() => milliseconds(value, 'requeueAfter')).toThrow(
        expect.objectContaining({
          code: 'INVALID_PROVIDER',
          message: 'requeueAfter: expected milliseconds or a duration such as "10s"',
        }) as Error,
      );
    },
  );
});

describe('what a provider returns as requeueAfter', () => {
  test.each([
    ['nothing', undefined, undefined],
    ['milliseconds', { requeueAfter: 1_500 }, 1_500],
    ['a duration', { requeueAfter: '1.5s' }, 1_500],
    ['nought, which is nothing in Go', { requeueAfter: 0 }, undefined],
    ['nought as a duration', { requeueAfter: '0s' }, undefined],
  ])('%s', (_what, result, expected) => {
    expect(requeueMs(result)).toBe(expected);
  });

  test('something else is refused', () => {
    expect(() => requeueMs({ requeueAfter: 'soon' })).toThrow(/^requeueAfter: expected milliseconds or a duration/);
  });
});
