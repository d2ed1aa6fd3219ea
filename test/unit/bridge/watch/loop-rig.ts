import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import pino from 'pino';
import { afterEach, beforeEach } from 'vitest';
import { DEFAULT_WATCH_TUNING } from '../../../../bridge/tuning.ts';
import { WatchLoop } from '../../../../bridge/watch/loop.ts';
import { clientFor } from '../../../../shared/kube/connect.ts';
import { CONFIG_MAPS } from '../../../../shared/kube/resources.ts';

/** A server that is told how to answer each request. */
export type Answer = (response: ServerResponse, query: URLSearchParams) => void;

/** Such a server, and the loop that asks it by the real client. */
export class LoopRig {
  answers: Answer[] = [];
  queries: URLSearchParams[] = [];
  heard: string[] = [];
  loop!: WatchLoop<{ metadata: { name: string } }, string>;
  #server!: Server;

  /** One for each test of a file. */
  static forEach(): LoopRig {
    const rig = new LoopRig();
    beforeEach(() => rig.#start());
    afterEach(() => rig.#stop());
    return rig;
  }

  requests(count: number): Promise<void> {
    return until(() => this.queries.length >= count);
  }

  /** Where each request began: with a list, or from a position. */
  positions(): (string | null)[] {
    return this.queries.map((query) =>
      query.get('sendInitialEvents') === 'true' ? 'list' : query.get('resourceVersion'),
    );
  }

  async #start(): Promise<void> {
    this.answers = [];
    this.queries = [];
    this.heard = [];
    this.#server = createServer((request, response) => {
      const query = new URL(request.url ?? '', 'http://x').searchParams;
      this.queries.push(query);
      (this.answers.shift() ?? says())(response, query);
    });
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    const client = clientFor({ server: `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}` });
    this.loop = new WatchLoop(
      {
        client,
        type: CONFIG_MAPS,
        digest: ({ metadata }) => (metadata.name === 'not-ours' ? undefined : metadata.name),
      },
      {
        replaced: (items) => this.heard.push(`all: ${items.join(' ')}`),
        event: (type, item) => {
          this.heard.push(`${type} ${item}`);
          if (item === 'poison') throw new Error('cannot be handled');
        },
      },
      { tuning, log: pino({ level: 'silent' }) },
    );
  }

  #stop(): void {
    this.loop.stop();
    this.#server.closeAllConnections();
    this.#server.close();
  }
}

export const until = async (condition: () => boolean): Promise<void> => {
  while (!condition()) await sleep(2);
};

const tuning = { ...DEFAULT_WATCH_TUNING, backoffFirstMs: 5, backoffLimitMs: 20, silenceLimitMs: 150 };

export const line = (type: string, name: string, resourceVersion: string, more: object = {}): string =>
  `${JSON.stringify({ type, object: { metadata: { name, resourceVersion }, ...more } })}\n`;
export const listEnd = (resourceVersion: string): string =>
  `${JSON.stringify({
    type: 'BOOKMARK',
    object: { metadata: { name: '', resourceVersion, annotations: { 'k8s.io/initial-events-end': 'true' } } },
  })}\n`;
export const errorEvent = (code: number): string =>
  `${JSON.stringify({ type: 'ERROR', object: { code, message: 'oh' } })}\n`;

export const says =
  (...lines: string[]): Answer =>
  (response) =>
    void response.writeHead(200).write(lines.join(''));
export const saysAndEnds =
  (...lines: string[]): Answer =>
  (response) =>
    void response.writeHead(200).end(lines.join(''));
export const refuses =
  (status: number): Answer =>
  (response) =>
    void response.writeHead(status).end(JSON.stringify({ kind: 'Status', message: 'no' }));

export const page: Answer = (response, query) =>
  void response
    .writeHead(200)
    .end(
      JSON.stringify(
        query.get('continue') === null
          ? { metadata: { resourceVersion: '5', continue: 'more' }, items: [{ metadata: { name: 'a' } }] }
          : { metadata: { resourceVersion: '5' }, items: [{ metadata: { name: 'b' } }] },
      ),
    );
