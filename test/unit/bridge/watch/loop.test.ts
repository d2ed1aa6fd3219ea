import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { LoopRig, errorEvent, line, listEnd, page, refuses, says, saysAndEnds, until } from './loop-rig.ts';

const rig = LoopRig.forEach();

describe('a watch', () => {
  test('begins with all that exists, told as one, and goes on with each change', async () => {
    rig.answers = [
      says(line('ADDED', 'a', '1'), line('ADDED', 'not-ours', '2'), listEnd('3'), line('MODIFIED', 'a', '4')),
    ];
    rig.loop.start();
    await until(() => rig.heard.length === 2);
    expect(rig.heard).toEqual(['all: a', 'MODIFIED a']);
    expect(rig.loop.state).toEqual({ synced: true, connected: true, lastError: undefined });
    expect(rig.queries[0]?.get('allowWatchBookmarks')).toBe('true');
  });

  test('that the server ended goes on from the last it rig.heard, bookmarks included, without a new list', async () => {
    rig.answers = [
      saysAndEnds(listEnd('3'), line('ADDED', 'a', '4')),
      saysAndEnds(line('BOOKMARK', '', '9')),
      says(line('DELETED', 'a', '10')),
    ];
    rig.loop.start();
    await until(() => rig.heard.length === 3);
    expect(rig.positions()).toEqual(['list', '4', '9']);
    expect(rig.heard).toEqual(['all: ', 'ADDED a', 'DELETED a']);
  });

  test('that was cut goes on from the last it rig.heard', async () => {
    rig.answers = [
      (response) => {
        response.writeHead(200).write(listEnd('3') + line('ADDED', 'a', '4'));
        setTimeout(() => response.destroy(), 20);
      },
      says(line('ADDED', 'b', '5')),
    ];
    rig.loop.start();
    await until(() => rig.heard.length === 3);
    expect(rig.positions()).toEqual(['list', '4']);
  });

  test.each([410, 500])('that ends with an ERROR event of code %i inside a 200 lists once again', async (code) => {
    rig.answers = [says(listEnd('3'), errorEvent(code)), says(line('ADDED', 'b', '7'), listEnd('8'))];
    rig.loop.start();
    await until(() => rig.heard.length === 2);
    await sleep(30);
    expect(rig.positions()).toEqual(['list', 'list']);
    expect(rig.heard).toEqual(['all: ', 'all: b']);
  });

  test('whose position is refused with 410 lists once again', async () => {
    rig.answers = [saysAndEnds(listEnd('3')), refuses(410), says(listEnd('8'))];
    rig.loop.start();
    await rig.requests(3);
    expect(rig.positions()).toEqual(['list', '3', 'list']);
  });

  test('that falls silent is dropped and lists again', async () => {
    rig.answers = [says(listEnd('3')), says(line('ADDED', 'missed', '7'), listEnd('8'))];
    rig.loop.start();
    await until(() => rig.heard.length === 2);
    expect(rig.heard).toEqual(['all: ', 'all: missed']);
  });

  test('that hears bookmarks only is alive', async () => {
    rig.answers = [
      (response) => {
        response.writeHead(200).write(listEnd('3'));
        const timer = setInterval(() => response.write(line('BOOKMARK', '', '4')), 40);
        response.on('close', () => clearInterval(timer));
      },
    ];
    rig.loop.start();
    await sleep(400);
    expect(rig.queries).toHaveLength(1);
  });

  test('that is interrupted in the middle of its list tells nothing of it, and begins anew', async () => {
    rig.answers = [
      saysAndEnds(line('ADDED', 'a', '1')),
      says(line('ADDED', 'a', '1'), line('ADDED', 'b', '2'), listEnd('3')),
    ];
    rig.loop.start();
    await until(() => rig.heard.length > 0);
    expect(rig.heard).toEqual(['all: a b']);
  });

  test.each([
    ['refuses it', refuses(422)],
    ['ignores it', says(line('ADDED', 'a', '1'), line('BOOKMARK', '', '2'))],
  ])('lists in pages on a server without WatchList that %s', async (_, withoutWatchList) => {
    rig.answers = [withoutWatchList, page, page, says(line('ADDED', 'c', '6'))];
    rig.loop.start();
    await until(() => rig.heard.length === 2);
    expect(rig.heard).toEqual(['all: a b', 'ADDED c']);
    expect(rig.positions()[3]).toBe('5');
  });

  test('survives a fault in handling one object', async () => {
    rig.answers = [says(listEnd('3'), line('ADDED', 'poison', '4'), line('ADDED', 'b', '5'))];
    rig.loop.start();
    await until(() => rig.heard.includes('ADDED b'));
    expect(rig.queries).toHaveLength(1);
  });

  test('tells nothing after it was stopped', async () => {
    const open: ServerResponse[] = [];
    rig.answers = [
      (response) => {
        open.push(response);
        response.writeHead(200).write(listEnd('3'));
      },
    ];
    rig.loop.start();
    await until(() => rig.heard.length === 1);
    rig.loop.stop();
    open[0]?.write(line('ADDED', 'late', '4'));
    await sleep(30);
    expect(rig.heard).toEqual(['all: ']);
    expect(rig.queries).toHaveLength(1);
  });
});
