import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { ApiError } from '../../../../shared/kube/api-error.ts';
import { HttpKubeClient } from '../../../../shared/kube/client.ts';
import { askedPauseMs } from '../../../../shared/kube/decide-pause.ts';
import { Pauses } from '../../../../shared/kube/pauses.ts';
import { CONFIG_MAPS } from '../../../../shared/kube/resources.ts';
import { agentFor } from '../../../../shared/kube/transport.ts';

/** A server that refuses what it is told to, and the real client of it; time passes where somebody sleeps. */
let server: Server;
let refusals: ((response: ServerResponse) => void)[];
/** Each request, and when it came. */
let asked: string[];
let now: number;
let client: HttpKubeClient;

const OBJECT = { metadata: { name: 'a', namespace: 'n' } };
const status = (code: number, details: object = {}): string =>
  JSON.stringify({ kind: 'Status', code, reason: 'TooManyRequests', message: 'slow down', details });
const byHeader =
  (seconds: number | string, code = 429) =>
  (response: ServerResponse): void =>
    void response.writeHead(code, { 'retry-after': String(seconds) }).end(status(code));
const byDetails =
  (retryAfterSeconds: number, code = 429) =>
  (response: ServerResponse): void =>
    void response.writeHead(code).end(status(code, { retryAfterSeconds }));

function answer({ method, url }: IncomingMessage, response: ServerResponse): void {
  asked.push(`${now} ${method} ${new URL(url ?? '', 'http://x').pathname.split('/').at(-1)}`);
  const refuse = refusals.shift();
  if (refuse) refuse(response);
  else response.writeHead(200).end(JSON.stringify({ ...OBJECT, items: [] }));
}

beforeEach(async () => {
  refusals = [];
  asked = [];
  now = 0;
  server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const sleep = (ms: number): Promise<void> => Promise.resolve(void (now += ms));
  client = new HttpKubeClient(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, {
    dispatcher: agentFor({}),
    pauses: new Pauses({ now: () => now, sleep }),
    authorization: () => Promise.resolve(undefined),
  });
});

afterEach(() => {
  server.closeAllConnections();
  server.close();
});

const watch = async (): Promise<void> => {
  for await (const event of client.watch(CONFIG_MAPS, { signal: AbortSignal.timeout(5_000) })) void event;
};
const failureOf = (promise: Promise<unknown>): Promise<ApiError> =>
  promise.then(
    () => expect.fail('it succeeded'),
    (error: unknown) => error as ApiError,
  );

describe('a server that says when it wants to be asked again', () => {
  test.each<[string, string, () => Promise<unknown>]>([
    ['get', 'GET a', () => client.get(CONFIG_MAPS, 'a', 'n')],
    ['list', 'GET configmaps', () => client.list(CONFIG_MAPS)],
    ['create', 'POST configmaps', () => client.create(CONFIG_MAPS, OBJECT)],
    ['patch', 'PATCH a', () => client.mergePatch(CONFIG_MAPS, 'a', {}, { namespace: 'n' })],
    ['apply', 'PATCH a', () => client.apply(CONFIG_MAPS, OBJECT)],
    ['delete', 'DELETE a', () => client.delete(CONFIG_MAPS, 'a', { namespace: 'n' })],
    ['anything else', 'POST token', () => client.post('/token', {})],
  ])('%s: is asked again then, by itself, and not before', async (_, request, ask) => {
    refusals = [byHeader(7), byDetails(3)];
    await ask();
    expect(asked).toEqual([`0 ${request}`, `7000 ${request}`, `10000 ${request}`]);
  });

  test('for longer than a request may take: whoever asks is told when, and nothing is sent before, by anybody', async () => {
    refusals = [byHeader(60)];
    expect(await failureOf(client.get(CONFIG_MAPS, 'a', 'n'))).toMatchObject({ status: 429, retryAfterMs: 60_000 });
    now = 20_000;
    const fenced = client.fenced(() => undefined).within(5_000);
    expect(await failureOf(fenced.get(CONFIG_MAPS, 'a', 'n'))).toMatchObject({ status: 429, retryAfterMs: 40_000 });
    expect(asked).toEqual(['0 GET a']);
    await client.get(CONFIG_MAPS, 'b', 'n');
    await client.at(`${client.server}/clusters/other`).get(CONFIG_MAPS, 'a', 'n');
    now = 60_000;
    await client.get(CONFIG_MAPS, 'a', 'n');
    expect(asked).toEqual(['0 GET a', '20000 GET b', '20000 GET a', '60000 GET a']);
  });

  test('a watch, which waits by itself, is told when, and lists of the same wait as well', async () => {
    refusals = [byDetails(5)];
    expect(await failureOf(watch())).toMatchObject({ status: 429, retryAfterMs: 5_000 });
    expect(await failureOf(watch())).toMatchObject({
      status: 429,
      message: expect.stringContaining('slow down') as string,
    });
    expect(asked).toHaveLength(1);
    await client.list(CONFIG_MAPS);
    expect(asked.at(-1)).toBe('5000 GET configmaps');
  });

  test('a write that may have been done is not sent again', async () => {
    refusals = [byHeader(2, 503)];
    expect(await failureOf(client.create(CONFIG_MAPS, OBJECT))).toMatchObject({ status: 503, retryAfterMs: 2_000 });
    expect(asked).toHaveLength(1);
  });

  test('nothing is sent once the invocation has ended meanwhile', async () => {
    refusals = [byHeader(5)];
    const fenced = client.fenced(() => {
      if (now > 0) throw new Error('ended');
    });
    await expect(fenced.get(CONFIG_MAPS, 'a', 'n')).rejects.toThrow('ended');
    expect(asked).toHaveLength(1);
  });

  test('whoever says nothing of a time is left to those who ask', async () => {
    refusals = [(response) => void response.writeHead(429).end(status(429))];
    expect((await failureOf(client.get(CONFIG_MAPS, 'a', 'n'))).retryAfterMs).toBeUndefined();
    await client.get(CONFIG_MAPS, 'a', 'n');
    expect(asked).toEqual(['0 GET a', '0 GET a']);
  });
});

describe('for how long', () => {
  test.each<[string, number, string | undefined, unknown, number | undefined]>([
    ['seconds', 429, '3', undefined, 3_000],
    ['details', 429, undefined, 3, 3_000],
    ['the longer of both', 429, '2', 9, 9_000],
    ['a date', 429, 'Thu, 01 Jan 2026 00:00:30 GMT', undefined, 30_000],
    ['a date that is over', 503, 'Thu, 01 Jan 2025 00:00:30 GMT', undefined, 1_000],
    ['no time at all: no hot loop', 429, '0', undefined, 1_000],
    ['a year, as a webhook of a tenant may say', 429, undefined, 31_536_000, 600_000],
    ['a server that is overloaded', 503, '4', undefined, 4_000],
    ['nothing', 429, undefined, undefined, undefined],
    ['nonsense', 429, 'soon', 'later', undefined],
    ['a refusal of another kind', 403, '3', 3, undefined],
  ])('%s', (_, code, header, details, expected) => {
    const headers = { date: 'Thu, 01 Jan 2026 00:00:00 GMT', ...(header ? { 'retry-after': header } : {}) };
    expect(askedPauseMs(code, headers, details)).toBe(expected);
  });
});
