import { createServer, type AddressInfo } from 'node:net';

/** Ports handed out already, so that two servers of one process never get the same one. */
const given = new Set<number>();

/** A TCP port on loopback that nobody listens on. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = await anyPort();
    if (given.has(port)) continue;
    given.add(port);
    return port;
  }
}

function anyPort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => resolve(port));
    });
  });
}
