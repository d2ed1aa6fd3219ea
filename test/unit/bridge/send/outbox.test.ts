import { describe, expect, test } from 'vitest';
import { Outbox } from '../../../../bridge/send/outbox.ts';
import type { Notice } from '../../../../bridge/send/to-events.ts';

const notice = (name: string, priority: Notice['priority'] = 'user', reason: Notice['reason'] = 'Changed'): Notice => ({
  key: { provider: 'p', mode: 'kcp', cluster: 'c', namespace: 'n', name, uid: name },
  reason,
  priority,
});
const drain = (outbox: Outbox): string[] => {
  const names: string[] = [];
  for (let next = outbox.take(); next; next = outbox.take()) names.push(next.key.name);
  return names;
};

describe('what waits to be sent', () => {
  test('is told once for each object, with the newest reason', () => {
    const outbox = new Outbox();
    outbox.add(notice('a', 'user', 'Added'));
    outbox.add(notice('a', 'user', 'Deleting'));
    expect(outbox.size).toBe(1);
    expect(outbox.take()?.reason).toBe('Deleting');
    expect(outbox.take()).toBeUndefined();
  });

  test("goes out with users' changes first, each in the order in which it came", () => {
    const outbox = new Outbox();
    outbox.add(notice('b1', 'background'));
    outbox.add(notice('u1'));
    outbox.add(notice('b2', 'background'));
    outbox.add(notice('u2'));
    outbox.add(notice('u1'));
    expect(drain(outbox)).toEqual(['u1', 'u2', 'b1', 'b2']);
  });

  test("keeps a user's priority when background work comes for the same object, and is raised the other way", () => {
    const outbox = new Outbox();
    outbox.add(notice('a', 'user', 'Changed'));
    outbox.add(notice('a', 'background', 'Resync'));
    outbox.add(notice('b', 'background', 'Resync'));
    outbox.add(notice('b', 'user', 'Changed'));
    expect(outbox.size).toBe(2);
    expect(outbox.take()).toMatchObject({ priority: 'user', reason: 'Changed' });
    expect(outbox.take()).toMatchObject({ priority: 'user', reason: 'Changed' });
  });

  test('takes back what could not be sent, unless something newer came', () => {
    const outbox = new Outbox();
    outbox.add(notice('a', 'user', 'Deleting'));
    outbox.putBack(notice('a', 'user', 'Added'));
    outbox.add(notice('b', 'background', 'Resync'));
    outbox.putBack(notice('b', 'user', 'Changed'));
    outbox.putBack(notice('c', 'background', 'Timer'));
    expect(outbox.take()).toMatchObject({ reason: 'Deleting' });
    expect(outbox.take()).toMatchObject({ priority: 'user', reason: 'Resync' });
    expect(outbox.take()).toMatchObject({ priority: 'background', reason: 'Timer' });
  });

  test('goes on after it was emptied', () => {
    const outbox = new Outbox();
    outbox.add(notice('a'));
    expect(drain(outbox)).toEqual(['a']);
    outbox.add(notice('b'));
    outbox.add(notice('a'));
    expect(drain(outbox)).toEqual(['b', 'a']);
  });
});

function* all(count: number, read: string[] = []): Generator<Notice> {
  for (let index = 0; index < count; index++) {
    read.push(String(index));
    yield notice(String(index), 'background', 'Resync');
  }
}

describe('a sweep over all objects', () => {
  test('is read only as fast as it is sent, behind everything else', () => {
    const outbox = new Outbox();
    const read: string[] = [];
    outbox.sweep('resync', all(3, read), 'restart');
    outbox.add(notice('b', 'background'));
    expect(outbox.take()?.key.name).toBe('b');
    expect(read).toEqual([]);
    expect(drain(outbox)).toEqual(['0', '1', '2']);
    expect(outbox.empty).toBe(true);
  });

  test('begins anew where everything that was sent may be lost, or goes on where it is', () => {
    const outbox = new Outbox();
    outbox.sweep('epoch', all(2), 'restart');
    outbox.take();
    outbox.sweep('epoch', all(2), 'restart');
    expect(drain(outbox)).toEqual(['0', '1']);
    outbox.sweep('resync', all(2), 'keep');
    outbox.take();
    outbox.sweep('resync', all(2), 'keep');
    expect(drain(outbox)).toEqual(['1']);
  });
});

test('a long queue is emptied without looking for its front again and again', () => {
  const outbox = new Outbox();
  for (let index = 0; index < 100_000; index++) outbox.add(notice(String(index), 'background'));
  const start = performance.now();
  expect(drain(outbox)).toHaveLength(100_000);
  expect(performance.now() - start).toBeLessThan(1_000);
});
