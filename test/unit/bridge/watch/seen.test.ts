import { describe, expect, test } from 'vitest';
import { type Identified, Seen } from '../../../../bridge/watch/seen.ts';

const object = (group: string, id: string, uid = `${group}-${id}`): Identified => ({ group, id, uid });

describe('the memory of what was seen', () => {
  test('tells what is added, changed and gone', () => {
    const seen = new Seen();
    const first = object('a', 'x');
    const second = object('a', 'x');
    expect(seen.apply('ADDED', first)).toEqual({ kind: 'added', now: first });
    expect(seen.apply('MODIFIED', second)).toEqual({ kind: 'changed', before: first, now: second });
    expect(seen.apply('DELETED', second)).toEqual({ kind: 'gone', before: second });
    expect(seen.size).toBe(0);
  });

  test('keeps the same name in two clusters apart', () => {
    const seen = new Seen();
    seen.apply('ADDED', object('a', 'x'));
    expect(seen.apply('ADDED', object('b', 'x'))?.kind).toBe('added');
    expect(seen.size).toBe(2);
  });

  test('takes an ADDED of a known object, as after a resumed watch, for a change', () => {
    const seen = new Seen();
    seen.apply('ADDED', object('a', 'x'));
    expect(seen.apply('ADDED', object('a', 'x'))?.kind).toBe('changed');
  });

  test('ignores the deletion of something unknown, and of an earlier object of that name', () => {
    const seen = new Seen();
    expect(seen.apply('DELETED', object('a', 'x'))).toBeUndefined();
    seen.apply('ADDED', object('a', 'x', 'new'));
    expect(seen.apply('DELETED', object('a', 'x', 'old'))).toBeUndefined();
    expect(seen.size).toBe(1);
  });

  test('compares a new list with what it knew: the missed changes come out', () => {
    const seen = new Seen();
    for (const id of ['stays', 'goes']) seen.apply('ADDED', object('a', id));
    const changes = seen.replaceAll([object('a', 'stays'), object('b', 'comes')]);
    expect(changes.map((change) => change.kind)).toEqual(['changed', 'added', 'gone']);
    expect(seen.size).toBe(2);
    expect([...seen.all()].map(({ id }) => id)).toEqual(['stays', 'comes']);
  });

  test('finds those of one cluster without looking at the others', () => {
    const seen = new Seen();
    for (const [group, id] of [
      ['a', 'x'],
      ['a', 'y'],
      ['b', 'x'],
    ] as const)
      seen.apply('ADDED', object(group, id));
    expect([...seen.inGroup('a')].map(({ id }) => id)).toEqual(['x', 'y']);
    expect([...seen.inGroup('none')]).toEqual([]);
  });

  test('can be walked through while it changes', () => {
    const seen = new Seen();
    for (const id of ['1', '2', '3']) seen.apply('ADDED', object('a', id));
    const walk = seen.all();
    walk.next();
    seen.apply('DELETED', object('a', '2'));
    seen.apply('ADDED', object('a', '4'));
    expect([...walk].map(({ id }) => id)).toEqual(['3', '4']);
  });
});

test('100,000 objects take as long per event as a few', () => {
  const seen = new Seen();
  const run = (from: number, count: number): number => {
    const start = performance.now();
    for (let index = from; index < from + count; index++)
      seen.apply('ADDED', object(`cluster-${index % 5_000}`, `${index}`));
    return performance.now() - start;
  };
  run(0, 10_000);
  const early = run(10_000, 10_000);
  run(20_000, 70_000);
  expect(run(90_000, 10_000)).toBeLessThan(Math.max(early * 10, 100));
});
