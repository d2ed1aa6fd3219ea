import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pino from 'pino';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { TokenFile } from '../../functions/host/bearer.ts';
import type { Invoke } from '../../functions/host/deliver.ts';
import { createFunctionServer, type FunctionServer, type ServerOptions } from '../../functions/host/server.ts';
import { httpEvent } from '../../shared/events/http-event.ts';
import { done } from '../../shared/events/outcome.ts';
import { eventually } from '../support/wait.ts';
import { eventOf, FUNCTION, jsonOf, newKey, PROVIDER } from './rig.ts';

/** What is particular to HTTP. */

let folder: string;
let server: FunctionServer | undefined;
const holds: { signal: AbortSignal; end: () => void }[] = [];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'http-'));
  holds.length = 0;
});
afterEach(async () => {
  for (const { end } of holds) end();
  await server?.close();
  server = undefined;
  rmSync(folder, { recursive: true });
});

const held: Invoke = (_event, { signal }) =>
  new Promise((resolve) => holds.push({ signal, end: () => resolve(done()) }));

async function serve(options: Partial<ServerOptions> = {}): Promise<string> {
  server = createFunctionServer({
    provider: PROVIDER,
    functionName: FUNCTION,
    invoke: () => Promise.resolve(done()),
    concurrency: 2,
    holdMs: 5_000,
    log: pino({ level: 'silent' }),
    ...options,
  });
  return `http://127.0.0.1:${await server.listen({ host: '127.0.0.1', port: 0 })}`;
}

const event = () => httpEvent(eventOf(newKey())).headers;
const post = (url: string, headers: Record<string, string> = event(), body?: string): Promise<Response> =>
  fetch(`${url}/`, { method: 'POST', headers, ...(body === undefined ? {} : { body }) });
const structured = (type: string): [Record<string, string>, string] => [
  { 'content-type': type },
  JSON.stringify(jsonOf(eventOf(newKey()))),
];

describe('a request', () => {
  test.each<[string, () => [Record<string, string>, string?], number]>([
    ['binary', () => [event()], 200],
    ['binary with data', () => [{ ...event(), 'content-type': 'application/json' }, '{}'], 200],
    ['structured', () => structured('application/cloudevents+json'), 200],
    ['structured with parameters', () => structured('application/cloudevents+json; charset=UTF-8'), 200],
    ['of another charset', () => structured('application/cloudevents+json; charset=utf-16'), 415],
    ['a batch', () => structured('application/cloudevents-batch+json'), 415],
    ['plain JSON', () => structured('application/json'), 415],
    ['without anything', () => [{}], 415],
    ['structured without a body', () => [{ 'content-type': 'application/cloudevents+json' }, ''], 400],
    ['too large', () => [{ 'content-type': 'application/cloudevents+json' }, ' '.repeat(70_000)], 413],
    ['of an older specversion', () => [{ ...event(), 'ce-specversion': '0.3' }], 400],
  ])('%s', async (_name, request, status) => {
    const response = await post(await serve(), ...request());
    expect(response.status).toBe(status);
    if (status !== 200) expect(await response.json()).toEqual({ problem: expect.any(String) as string });
  });

  test('elsewhere finds nothing', async () => {
    const url = await serve();
    expect((await fetch(`${url}/other`, { method: 'POST', headers: event() })).status).toBe(404);
    expect((await fetch(`${url}/`)).status).toBe(404);
  });
});

test('without the token, or with another, nothing is taken; a new one counts soon', async () => {
  const file = join(folder, 'token');
  writeFileSync(file, 'first\n');
  const url = await serve({ token: new TokenFile(file) });
  expect((await post(url)).status).toBe(401);
  expect((await post(url, { ...event(), authorization: 'Bearer second' })).status).toBe(401);
  expect((await post(url, { ...event(), authorization: 'Bearer first' })).status).toBe(200);
  expect((await fetch(`${url}/readyz`)).status).toBe(200);
});

test('more than it can do at once is sent back, and it is said when to come again', async () => {
  const url = await serve({ invoke: held });
  const running = [post(url), post(url)];
  await eventually('both run', () => holds.length === 2);
  const third = await post(url);
  expect([third.status, third.headers.get('retry-after')]).toEqual([429, '1']);
  for (const { end } of holds) end();
  expect((await Promise.all(running)).map(({ status }) => status)).toEqual([200, 200]);
});

test('while something is missing it says so, and takes nothing', async () => {
  let problems = ['no access to the onboarding cluster yet'];
  const url = await serve({ problems: () => problems });
  expect((await fetch(`${url}/readyz`)).status).toBe(503);
  const response = await post(url);
  expect([response.status, response.headers.get('retry-after')]).toEqual([503, '1']);
  problems = [];
  expect((await fetch(`${url}/readyz`)).status).toBe(200);
  expect((await post(url)).status).toBe(200);
});

test('while what one mode needs is missing it takes events of the other', async () => {
  const url = await serve({ problems: (mode) => (mode === 'kcp' ? [] : ['no access to the onboarding cluster yet']) });
  expect((await fetch(`${url}/readyz`)).status).toBe(503);
  const ofKcp = httpEvent(eventOf(newKey({ mode: 'kcp', namespace: 'default' }))).headers;
  expect((await post(url)).status).toBe(503);
  expect((await post(url, ofKcp)).status).toBe(200);
});

test('what some objects may lack is said, and events are taken', async () => {
  const url = await serve({ lacks: () => ['kcp: root:services: no answer'] });
  expect((await fetch(`${url}/readyz`)).status).toBe(503);
  expect((await post(url)).status).toBe(200);
});

test('that ends answers what runs, and takes nothing more', async () => {
  const url = await serve({ invoke: held });
  const running = post(url);
  await eventually('it runs', () => holds.length === 1);
  server?.drain();
  expect((await fetch(`${url}/readyz`)).status).toBe(503);
  expect((await post(url)).status).toBe(503);
  holds[0]?.end();
  expect((await running).status).toBe(200);
});

test('whose caller hangs up is told to end', async () => {
  const url = await serve({ invoke: held });
  const caller = new AbortController();
  const gone = fetch(`${url}/`, { method: 'POST', headers: event(), signal: caller.signal }).catch(() => 'gone');
  await eventually('it runs', () => holds.length === 1);
  caller.abort();
  expect(await gone).toBe('gone');
  await eventually('told to end', () => holds[0]?.signal.reason === 'LeaseLost');
});

test('may not send once the time is over for which its object is held', async () => {
  let refused: unknown;
  const url = await serve({
    invoke: async (_event, hold) => {
      hold.guard();
      await sleep(1_200);
      try {
        hold.guard();
      } catch (error) {
        refused = error;
      }
      return done();
    },
  });
  expect((await post(url, httpEvent(eventOf(newKey()), 1).headers)).status).toBe(200);
  expect(refused).toMatchObject({ code: 'STALE_HOLDER' });
});
