import { createServer, request, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import type { ManagedProcess } from '../control-planes/processes.ts';

/** A service that was started and takes requests. */
export interface ActivatedService {
  readonly process: ManagedProcess;
  readonly port: number;
}

export interface ActivatorOptions {
  start: () => Promise<ActivatedService>;
  /** Without a request for so long the service is ended, as one that is scaled to zero. */
  idleMs: number;
}

/**
 * What Knative's activator does, for one service on one machine: requests wait while the service starts, and it is ended
 * when it has nothing to do. A caller that hangs up is hung up on.
 */
export class Activator {
  /** How long each start took, from the request that asked for it to the first that was sent on, in milliseconds. */
  readonly coldStarts: number[] = [];
  stops = 0;
  readonly #options: ActivatorOptions;
  readonly #server: Server;
  #service: Promise<ActivatedService> | undefined;
  #underWay = 0;
  #idle: NodeJS.Timeout | undefined;
  #ending: Promise<void> = Promise.resolve();

  constructor(options: ActivatorOptions) {
    this.#options = options;
    this.#server = createServer((incoming, answer) => void this.#handle(incoming, answer));
  }

  async listen(): Promise<string> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/`;
  }

  /** Undefined while it is scaled to zero. */
  async service(): Promise<ActivatedService | undefined> {
    return this.#service;
  }

  /** The service's process has gone by itself, or was killed: the next request starts another. */
  forget(): void {
    this.#service = undefined;
  }

  async stop(): Promise<void> {
    clearTimeout(this.#idle);
    this.#server.closeAllConnections();
    this.#server.close();
    await this.#ending;
    await (await this.#service)?.process.stop();
  }

  async #handle(incoming: IncomingMessage, answer: ServerResponse): Promise<void> {
    this.#underWay += 1;
    clearTimeout(this.#idle);
    const hungUp = new AbortController();
    answer.once('close', () => {
      hungUp.abort();
      this.#underWay -= 1;
      if (this.#underWay === 0) this.#idle = setTimeout(() => this.#end(), this.#options.idleMs);
    });
    try {
      const { port } = await this.#started();
      await forward(incoming, answer, port, hungUp.signal);
    } catch {
      if (!answer.headersSent) answer.writeHead(502);
      answer.end();
    }
  }

  #started(): Promise<ActivatedService> {
    if (!this.#service) {
      const asked = performance.now();
      this.#service = this.#ending.then(this.#options.start).then((service) => {
        this.coldStarts.push(performance.now() - asked);
        return service;
      });
      this.#service.catch(() => this.forget());
    }
    return this.#service;
  }

  #end(): void {
    const service = this.#service;
    this.#service = undefined;
    if (!service) return;
    this.stops += 1;
    this.#ending = service.then(({ process }) => process.stop());
  }
}

async function forward(
  incoming: IncomingMessage,
  answer: ServerResponse,
  port: number,
  signal: AbortSignal,
): Promise<void> {
  const { method, url, headers } = incoming;
  const outgoing = request({ host: '127.0.0.1', port, method, path: url, headers, signal });
  incoming.pipe(outgoing);
  const [response] = (await once(outgoing, 'response')) as [IncomingMessage];
  answer.writeHead(response.statusCode ?? 502, response.headers);
  response.pipe(answer);
  await once(answer, 'close');
}
