import { LARGEST_PAGE_SIZE, PAGE_LENGTH } from '../tuning.ts';

/** Pure: as many objects as fill a page of the wanted length, should they be as long as those of the last page. */
export function nextPageSize(size: number, length: number): number {
  const fitting = Math.floor((size * PAGE_LENGTH) / Math.max(1, length));
  return Math.min(LARGEST_PAGE_SIZE, Math.max(1, fitting));
}
