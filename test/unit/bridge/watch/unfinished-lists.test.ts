import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { type Answer, LoopRig, errorEvent, line, listEnd, page, says, saysAndEnds, until } from './loop-rig.ts';

const rig = LoopRig.forEach();

describe('a watch', () => {
  test.each<[string, Answer]>([
    ['falls silent before the list is whole', says(line('ADDED', 'a', '1'))],
    ['says nothing at all', says()],
    ['ends in good order before the list is whole', saysAndEnds(line('ADDED', 'a', '1'))],
    [
      'goes on for ever with changes and bookmarks of an older kind',
      (response) => {
        response.writeHead(200);
        const timer = setInterval(() => response.write(line('MODIFIED', 'a', '1')), 20);
        response.on('close', () => clearInterval(timer));
      },
    ],
  ])('lists in pages where the streaming list %s, twice, and says why meanwhile', async (_, neverWhole) => {
    rig.answers = [neverWhole, neverWhole, page, page, says(line('ADDED', 'c', '6'))];
    rig.loop.start();
    await rig.requests(2);
    expect(rig.loop.state.synced).toBe(false);
    expect(rig.loop.state.lastError).toContain('the list was not whole');
    await until(() => rig.heard.length === 2);
    expect(rig.heard).toEqual(['all: a b', 'ADDED c']);
    expect(rig.positions().slice(0, 2)).toEqual(['list', 'list']);
    expect(rig.positions()[4]).toBe('5');
    expect(rig.loop.state).toMatchObject({ synced: true, connected: true, lastError: undefined });
  });

  test('that lists again and hears no end of it is not taken for connected', async () => {
    rig.answers = [
      saysAndEnds(listEnd('3'), errorEvent(410)),
      says(line('ADDED', 'a', '4')),
      says(line('ADDED', 'a', '4')),
    ];
    rig.loop.start();
    await until(() => !rig.loop.state.connected);
    expect(rig.queries).toHaveLength(2);
    expect(rig.heard).toEqual(['all: ']);
  });

  test('that goes on from a position is connected once the server has taken it, and not before', async () => {
    const open: ServerResponse[] = [];
    rig.answers = [saysAndEnds(listEnd('3')), (response) => response.destroy(), (response) => void open.push(response)];
    rig.loop.start();
    await rig.requests(3);
    // Longer than a server may take to refuse.
    await sleep(100);
    expect(rig.loop.state.lastError).not.toBe(undefined);
    open[0]?.writeHead(200).flushHeaders();
    await until(() => rig.loop.state.lastError === undefined);
  });
});
