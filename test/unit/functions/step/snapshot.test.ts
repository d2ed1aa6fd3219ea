import { randomBytes } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { MAX_SNAPSHOT_LENGTH, snapshotOf, vanishedObject } from '../../../../functions/step/snapshot.ts';
import { marks, serviceObject, standardKey } from '../objects.ts';

const NOW = new Date('2026-05-05T05:05:05Z');
const back = (snapshot: string) =>
  vanishedObject(standardKey, 'x/finalizer', marks({ snapshot, installed: 'uid-1 3' }), NOW);

describe('what delete needs of an object', () => {
  test('comes back as it was', () => {
    const spec = { nested: { list: [1, 'two', null], text: 'ünïcode' } };
    const object = { ...serviceObject([], { labels: { a: 'b' }, annotations: { note: 'x' } }), spec };
    expect(back(snapshotOf(object))).toMatchObject({
      metadata: { labels: { a: 'b' }, annotations: { note: 'x' }, generation: 3 },
      spec,
    });
  });

  test('a spec that is large but no noise is remembered', () => {
    const spec = {
      rows: Array.from({ length: 20_000 }, (_, index) => ({ name: `row-${index % 50}`, value: 'the same' })),
    };
    expect(JSON.stringify(spec).length).toBeGreaterThan(700_000);
    const snapshot = snapshotOf({ ...serviceObject(), spec });
    expect(snapshot.length).toBeLessThan(MAX_SNAPSHOT_LENGTH / 2);
    expect(back(snapshot).spec).toEqual(spec);
  });

  test('a spec that can not be remembered is refused, with its size', () => {
    const spec = { noise: randomBytes(200 * 1024).toString('base64') };
    expect(() => snapshotOf({ ...serviceObject(), spec })).toThrow(/at most 196608 .*make the spec smaller/);
  });

  test('annotations in bulk, and the copy that kubectl keeps, are left out', () => {
    const copy = { 'kubectl.kubernetes.io/last-applied-configuration': '{}' };
    expect(back(snapshotOf(serviceObject([], { annotations: { ...copy, note: 'x' } }))).metadata.annotations).toEqual({
      note: 'x',
    });
    const bulk = { bulk: 'x'.repeat(200_000) };
    expect(back(snapshotOf(serviceObject([], { annotations: bulk }))).metadata.annotations).toBeUndefined();
  });
});
