import { request as httpRequest } from 'node:http';
import { createServer, request, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { selfSignedCertificate } from '../../deploy/command/self-signed.ts';

/**
 * What stands before a kcp and hides what older servers don't have: `apis.kcp.io/v1alpha2`. Everything else is passed on
 * as it is, watches included.
 */
export class OlderKcp {
  readonly #server: Server;
  /** Requests for what is hidden. */
  hidden = 0;

  /** PEM: the authority of its certificate. */
  readonly ca: string;

  private constructor(server: Server, ca: string) {
    this.#server = server;
    this.ca = ca;
  }

  static async before(target: string, ca: string): Promise<OlderKcp> {
    const pair = selfSignedCertificate('older-kcp');
    const server = createServer(pair);
    const older = new OlderKcp(server, pair.cert);
    const upstream = new URL(target);
    server.on('request', (incoming, answer) => {
      if (incoming.url?.includes('/apis/apis.kcp.io/v1alpha2')) {
        older.hidden += 1;
        answer.writeHead(404, { 'content-type': 'text/plain' }).end('404 page not found\n');
        return;
      }
      const send = upstream.protocol === 'https:' ? request : httpRequest;
      const outgoing = send(
        {
          host: upstream.hostname,
          port: upstream.port,
          path: incoming.url,
          method: incoming.method,
          headers: { ...incoming.headers, host: upstream.host },
          ca,
        },
        (response) => {
          answer.writeHead(response.statusCode ?? 502, response.headers);
          response.pipe(answer);
          response.on('error', () => answer.destroy());
        },
      );
      outgoing.on('error', () => answer.destroy());
      answer.on('close', () => outgoing.destroy());
      incoming.pipe(outgoing);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return older;
  }

  get url(): string {
    return `https://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }
}
