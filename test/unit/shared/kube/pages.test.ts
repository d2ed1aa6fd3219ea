import { expect, test } from 'vitest';
import { nextPageSize } from '../../../../shared/kube/decide-page.ts';
import { LARGEST_PAGE_SIZE, PAGE_LENGTH } from '../../../../shared/tuning.ts';

test.each([
  ['small objects come in the largest pages', 50, 50 * 1_000, LARGEST_PAGE_SIZE],
  ['objects full of annotations come by the handful', 50, 50 * 256 * 1024, 8],
  ['a page never shrinks to nothing', 1, PAGE_LENGTH * 3, 1],
  ['an empty page', 50, 0, LARGEST_PAGE_SIZE],
  ['and grows again', 8, 8 * 64 * 1024, 32],
])('%s', (_what, size, length, next) => {
  expect(nextPageSize(size, length)).toBe(next);
});
