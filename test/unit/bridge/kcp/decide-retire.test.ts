import { expect, test } from 'vitest';
import { retiredSchemas } from '../../../../bridge/kcp/decide-retire.ts';

const NOW = new Date('2026-01-01T00:10:00Z');
const TYPE = { group: 'example.org', plural: 'foos' };
const schema = (name: string, creationTimestamp = '2026-01-01T00:00:00Z') => ({
  metadata: { name, creationTimestamp },
});
const retired = (names: ReturnType<typeof schema>[], used: string[] = [], graceMs = 60_000) =>
  retiredSchemas(names, TYPE, new Set(used), NOW, graceMs).map(({ metadata }) => metadata.name);

test('goes when nothing uses it', () => {
  expect(retired([schema('v1.foos.example.org'), schema('v2.foos.example.org')], ['v2.foos.example.org'])).toEqual([
    'v1.foos.example.org',
  ]);
});

test('stays while it is young: another bridge may be about to export it', () => {
  expect(retired([schema('v3.foos.example.org', '2026-01-01T00:09:30Z')])).toEqual([]);
});

test("another type's schema is never touched, whatever its label says", () => {
  expect(retired([schema('v1.bars.example.org'), schema('v1.foos.other.org')])).toEqual([]);
});
