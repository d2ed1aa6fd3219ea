import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import pino from 'pino';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { DEFAULT_WATCH_TUNING } from '../../../../bridge/tuning.ts';
import { WatchLoop } from '../../../../bridge/watch/loop.ts';
import { clientFor } from '../../../../shared/kube/connect.ts';
import { CONFIG_MAPS } from '../../../../shared/kube/resources.ts';

/** A server that is told how to answer each request, and the loop that asks it by the real client. */
type Answer = (response: ServerResponse, query: URLSearchParams) => void;

let server: Server;
let answers: Answer[];
let queries: URLSearchParams[];
let heard: string[];
let loop: WatchLoop<{ metadata: { name: string } }, string>;

const tuning = { ...DEFAULT_WATCH_TUNING, backoffFirstMs: 5, backoffLimitMs: 20, silenceLimitMs: 150 };

const line = (type: string, name: string, resourceVersion: string, more: object = {}): string =>
  `${JSON.stringify({ type, object: { metadata: { name, resourceVersion }, ...more } })}\n`;
const listEnd = (resourceVersion: string): string =>
  `${JSON.stringify({
    type: 'BOOKMARK',
    object: { metadata: { name: '', resourceVersion, annotations: { 'k8s.io/initial-events-end': 'true' } } },
  })}\n`;
const errorEvent = (code: number): string => `${JSON.stringify({ type: 'ERROR', object: { code, message: 'oh' } })}\n`;

const says =
  (...lines: string[]): Answer =>
  (response) =>
    void response.writeHead(200).write(lines.join(''));
const saysAndEnds =
  (...lines: string[]): Answer =>
  (response) =>
    void response.writeHead(200).end(lines.join(''));
const refuses =
  (status: number): Answer =>
  (response) =>
    void response.writeHead(status).end(JSON.stringify({ kind: 'Status', message: 'no' }));

const page: Answer = (response, query) =>
  void response
    .writeHead(200)
    .end(
      JSON.stringify(
        query.get('continue') === null
          ? { metadata: { resourceVersion: '5', continue: 'more' }, items: [{ metadata: { name: 'a' } }] }
          : { metadata: { resourceVersion: '5' }, items: [{ metadata: { name: 'b' } }] },
      ),
    );

beforeEach(async () => {
  answers = [];
  queries = [];
  heard = [];
  server = createServer((request, response) => {
    const query = new URL(request.url ?? '', 'http://x').searchParams;
    queries.push(query);
    (answers.shift() ?? says())(response, query);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const client = clientFor({ server: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
  loop = new WatchLoop(
    { client, type: CONFIG_MAPS, digest: ({ metadata }) => (metadata.name === 'not-ours' ? undefined : metadata.name) },
    {
      replaced: (items) => heard.push(`all: ${items.join(' ')}`),
      event: (type, item) => {
        heard.push(`${type} ${item}`);
        if (item === 'poison') throw new Error('cannot be handled');
      },
    },
    { tuning, log: pino({ level: 'silent' }) },
  );
});

afterEach(() => {
  loop.stop();
  server.closeAllConnections();
  server.close();
});

const until = async (condition: () => boolean): Promise<void> => {
  while (!condition()) await sleep(2);
};
const requests = (count: number): Promise<void> => until(() => queries.length >= count);
const position = (query: URLSearchParams | undefined): string | null | undefined =>
  query?.get('sendInitialEvents') === 'true' ? 'list' : query?.get('resourceVersion');

describe('a watch', () => {
  test('begins with all that exists, told as one, and goes on with each change', async () => {
    answers = [says(line('ADDED', 'a', '1'), line('ADDED', 'not-ours', '2'), listEnd('3'), line('MODIFIED', 'a', '4'))];
    loop.start();
    await until(() => heard.length === 2);
    expect(heard).toEqual(['all: a', 'MODIFIED a']);
    expect(loop.state).toEqual({ synced: true, connected: true, lastError: undefined });
    expect(queries[0]?.get('allowWatchBookmarks')).toBe('true');
  });

  test('that the server ended goes on from the last it heard, bookmarks included, without a new list', async () => {
    answers = [
      saysAndEnds(listEnd('3'), line('ADDED', 'a', '4')),
      saysAndEnds(line('BOOKMARK', '', '9')),
      says(line('DELETED', 'a', '10')),
    ];
    loop.start();
    await until(() => heard.length === 3);
    expect(queries.map(position)).toEqual(['list', '4', '9']);
    expect(heard).toEqual(['all: ', 'ADDED a', 'DELETED a']);
  });

  test('that was cut goes on from the last it heard', async () => {
    answers = [
      (response) => {
        response.writeHead(200).write(listEnd('3') + line('ADDED', 'a', '4'));
        setTimeout(() => response.destroy(), 20);
      },
      says(line('ADDED', 'b', '5')),
    ];
    loop.start();
    await until(() => heard.length === 3);
    expect(queries.map(position)).toEqual(['list', '4']);
  });

  test.each([410, 500])('that ends with an ERROR event of code %i inside a 200 lists once again', async (code) => {
    answers = [says(listEnd('3'), errorEvent(code)), says(line('ADDED', 'b', '7'), listEnd('8'))];
    loop.start();
    await until(() => heard.length === 2);
    await sleep(30);
    expect(queries.map(position)).toEqual(['list', 'list']);
    expect(heard).toEqual(['all: ', 'all: b']);
  });

  test('whose position is refused with 410 lists once again', async () => {
    answers = [saysAndEnds(listEnd('3')), refuses(410), says(listEnd('8'))];
    loop.start();
    await requests(3);
    expect(queries.map(position)).toEqual(['list', '3', 'list']);
  });

  test('that falls silent is dropped and lists again', async () => {
    answers = [says(listEnd('3')), says(line('ADDED', 'missed', '7'), listEnd('8'))];
    loop.start();
    await until(() => heard.length === 2);
    expect(heard).toEqual(['all: ', 'all: missed']);
  });

  test('that hears bookmarks only is alive', async () => {
    answers = [
      (response) => {
        response.writeHead(200).write(listEnd('3'));
        const timer = setInterval(() => response.write(line('BOOKMARK', '', '4')), 40);
        response.on('close', () => clearInterval(timer));
      },
    ];
    loop.start();
    await sleep(400);
    expect(queries).toHaveLength(1);
  });

  test('that is interrupted in the middle of its list tells nothing of it, and begins anew', async () => {
    answers = [
      saysAndEnds(line('ADDED', 'a', '1')),
      says(line('ADDED', 'a', '1'), line('ADDED', 'b', '2'), listEnd('3')),
    ];
    loop.start();
    await until(() => heard.length > 0);
    expect(heard).toEqual(['all: a b']);
  });

  test.each([
    ['refuses it', refuses(422)],
    ['ignores it', says(line('ADDED', 'a', '1'), line('BOOKMARK', '', '2'))],
  ])('lists in pages on a server without WatchList that %s', async (_, withoutWatchList) => {
    answers = [withoutWatchList, page, page, says(line('ADDED', 'c', '6'))];
    loop.start();
    await until(() => heard.length === 2);
    expect(heard).toEqual(['all: a b', 'ADDED c']);
    expect(position(queries[3])).toBe('5');
  });

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
    answers = [neverWhole, neverWhole, page, page, says(line('ADDED', 'c', '6'))];
    loop.start();
    await requests(2);
    expect(loop.state.synced).toBe(false);
    expect(loop.state.lastError).toContain('the list was not whole');
    await until(() => heard.length === 2);
    expect(heard).toEqual(['all: a b', 'ADDED c']);
    expect(queries.slice(0, 2).map(position)).toEqual(['list', 'list']);
    expect(position(queries[4])).toBe('5');
    expect(loop.state).toMatchObject({ synced: true, connected: true, lastError: undefined });
  });

  test('that lists again and hears no end of it is not taken for connected', async () => {
    answers = [
      saysAndEnds(listEnd('3'), errorEvent(410)),
      says(line('ADDED', 'a', '4')),
      says(line('ADDED', 'a', '4')),
    ];
    loop.start();
    await until(() => !loop.state.connected);
    expect(queries).toHaveLength(2);
    expect(heard).toEqual(['all: ']);
  });

  test('that goes on from a position is connected once the server has taken it, and not before', async () => {
    const open: ServerResponse[] = [];
    answers = [saysAndEnds(listEnd('3')), (response) => response.destroy(), (response) => void open.push(response)];
    loop.start();
    await requests(3);
    // Longer than a server may take to refuse.
    await sleep(100);
    expect(loop.state.lastError).not.toBe(undefined);
    open[0]?.writeHead(200).flushHeaders();
    await until(() => loop.state.lastError === undefined);
  });

  test('survives a fault in handling one object', async () => {
    answers = [says(listEnd('3'), line('ADDED', 'poison', '4'), line('ADDED', 'b', '5'))];
    loop.start();
    await until(() => heard.includes('ADDED b'));
    expect(queries).toHaveLength(1);
  });

  test('tells nothing after it was stopped', async () => {
    const open: ServerResponse[] = [];
    answers = [
      (response) => {
        open.push(response);
        response.writeHead(200).write(listEnd('3'));
      },
    ];
    loop.start();
    await until(() => heard.length === 1);
    loop.stop();
    open[0]?.write(line('ADDED', 'late', '4'));
    await sleep(30);
    expect(heard).toEqual(['all: ']);
    expect(queries).toHaveLength(1);
  });
});

describe('a server that cannot be read', () => {
  test.each([401, 403, 404, 500, 503])(
    'with %i deletes nothing: the sink hears nothing until it can be read',
    async (status) => {
      const refusals = Array.from({ length: 3 }, () => refuses(status));
      const whole = says(line('ADDED', 'a', '1'), listEnd('2'));
      answers = [saysAndEnds(line('ADDED', 'a', '1'), listEnd('2')), ...refusals, whole];
      loop.start();
      await until(() => !loop.state.connected);
      expect(heard).toEqual(['all: a']);
      expect(loop.state.lastError).toContain('no');
      await until(() => loop.state.connected);
      expect(heard).not.toContain('all: ');
    },
  );

  test('is asked less and less often', async () => {
    answers = Array.from({ length: 1_000 }, () => refuses(403));
    loop.start();
    await sleep(300);
    // 5, 10, then 20 ms, each shortened by up to half: never more than thirty-odd requests.
    expect(queries.length).toBeGreaterThan(5);
    expect(queries.length).toBeLessThan(40);
    expect(loop.state.synced).toBe(false);
  });
});
