import { createServer, type Server, Socket } from 'node:net';
import type { AddressInfo } from 'node:net';

/** A TCP proxy on loopback that can stop passing anything on, as a network that swallows packets. */
export class FrozenProxy {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #target: URL;
  #frozen = false;

  private constructor(server: Server, target: string) {
    this.#server = server;
    this.#target = new URL(target);
  }

  static async to(target: string): Promise<FrozenProxy> {
    const server = createServer({ allowHalfOpen: true });
    const proxy = new FrozenProxy(server, target);
    server.on('connection', (client) => proxy.#connect(client));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return proxy;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  freeze(): void {
    this.#frozen = true;
    this.freezeOpen();
  }

  /** Those that are open, and no new ones. */
  freezeOpen(): void {
    for (const socket of this.#sockets) socket.pause();
  }

  thaw(): void {
    this.#frozen = false;
    for (const socket of this.#sockets) socket.resume();
  }

  /** New connections go elsewhere; those that are open stay. */
  moveTo(target: string): void {
    this.#target = new URL(target);
  }

  close(): void {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
  }

  #connect(client: Socket): void {
    const { hostname, port } = this.#target;
    const upstream = new Socket();
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      this.#sockets.add(from);
      from.on('data', (chunk: Buffer) => to.write(chunk));
      from.on('error', () => to.destroy());
      from.on('end', () => to.end());
      from.on('close', () => {
        this.#sockets.delete(from);
        to.destroy();
      });
    }
    upstream.connect(Number(port), hostname);
    if (this.#frozen) for (const socket of [client, upstream]) socket.pause();
  }
}
