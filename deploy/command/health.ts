import { plainFastify } from '../../functions/host/plain-fastify.ts';
import { serveProbes } from '../../functions/host/probes.ts';
import { parseBindAddress } from './bind-address.ts';

export interface HealthServer {
  close(): Promise<void>;
}

/** `/healthz`: the process lives. `/readyz`: 200, or 503 with a line for each reason. */
export async function serveHealth(address: string, ready: () => string[]): Promise<HealthServer | undefined> {
  const bind = parseBindAddress(address);
  if (!bind) return undefined;
  const server = plainFastify();
  serveProbes(server, ready);
  await server.listen(bind);
  return { close: () => server.close() };
}
