import { listenOn } from '../../functions/host/listen.ts';
import { plainFastify } from '../../functions/host/plain-fastify.ts';
import { type ProbeOptions, serveProbes } from '../../functions/host/probes.ts';
import { parseBindAddress } from './bind-address.ts';

export interface HealthServer {
  close(): Promise<void>;
}

/** `/healthz`: the process lives. `/readyz`: see {@link serveProbes}. */
export async function serveHealth(address: string, options: ProbeOptions): Promise<HealthServer | undefined> {
  const bind = parseBindAddress(address);
  if (!bind) return undefined;
  const server = plainFastify();
  serveProbes(server, options);
  await listenOn(server, bind);
  return { close: () => server.close() };
}
