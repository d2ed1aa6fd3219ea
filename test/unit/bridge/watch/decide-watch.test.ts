import { describe, expect, test } from 'vitest';
import { endProblem, isUnfinished, nextTry, watchProblem } from '../../../../bridge/watch/decide-watch.ts';

const WATCHING = { livedMs: 60_000, listing: false, unfinished: 0 };
const refused = (status: number) => ({ kind: 'refused', status, message: 'x' }) as const;

describe('a watch that ended', () => {
  test('in order goes on at once from where it was', () => {
    expect(nextTry({ kind: 'closed' }, WATCHING)).toEqual({ relist: false, listInPages: false, wait: false });
  });

  test('in order, but at once, waits first, so that a server that ends every watch is not asked in a tight loop', () => {
    expect(nextTry({ kind: 'closed' }, { ...WATCHING, livedMs: 3 }).wait).toBe(true);
  });

  test('in silence lists again, since a server that was set back stays silent for ever', () => {
    expect(nextTry({ kind: 'silent' }, WATCHING)).toEqual({ relist: true, listInPages: false, wait: true });
  });

  test.each([410, 404, 500])('with %i lists again, after a pause', (status) => {
    expect(nextTry(refused(status), WATCHING)).toEqual({ relist: true, listInPages: false, wait: true });
  });

  test.each([0, 401, 403, 429, 503])('with %i goes on from where it was, after a pause', (status) => {
    expect(nextTry(refused(status), WATCHING)).toEqual({ relist: false, listInPages: false, wait: true });
  });

  test.each([400, 422])('with %i while listing turns to pages, since the server has no WatchList', (status) => {
    expect(nextTry(refused(status), { livedMs: 10, listing: true, unfinished: 0 }).listInPages).toBe(true);
    expect(nextTry(refused(status), WATCHING).listInPages).toBe(false);
  });
});

describe('a streaming list that never becomes whole', () => {
  const listing = { livedMs: 60_000, listing: true };

  test.each([{ kind: 'silent' }, { kind: 'closed' }] as const)('$kind: tried again once, then in pages', (end) => {
    expect(isUnfinished(end, true)).toBe(true);
    expect(nextTry(end, { ...listing, unfinished: 1 })).toMatchObject({ listInPages: false, wait: true });
    expect(nextTry(end, { ...listing, unfinished: 2 })).toMatchObject({ listInPages: true, wait: true });
    expect(endProblem(end, true)).toContain('the list was not whole');
  });

  test('one that is refused says nothing about the protocol', () => {
    expect(isUnfinished(refused(503), true)).toBe(false);
    expect(isUnfinished({ kind: 'closed' }, false)).toBe(false);
  });
});

describe('what is said about a watch', () => {
  test('nothing while it is well', () => {
    expect(watchProblem('foos', { synced: true, connected: true, lastError: undefined })).toBeUndefined();
  });

  test('that it was not listed yet, and why', () => {
    expect(watchProblem('foos', { synced: false, connected: true, lastError: '403 forbidden' })).toBe(
      'foos: not listed yet (403 forbidden)',
    );
  });

  test('the last error once it keeps failing', () => {
    expect(watchProblem('foos', { synced: true, connected: false, lastError: 'no answer' })).toBe('foos: no answer');
  });
});
