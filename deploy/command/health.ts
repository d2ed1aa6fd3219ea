import { fastify } from 'fastify';
import { parseBindAddress } from './bind-address.ts';

export interface HealthServer {
  close(): Promise<void>;
}

/** `/healthz`: the process lives. `/readyz`: 200, or 503 with a line for each reason. */
export async function serveHealth(address: string, ready: () => string[]): Promise<HealthServer | undefined> {
  const bind = parseBindAddress(address);
  if (!bind) return undefined;
  const server = fastify();
  server.get('/healthz', () => 'ok');
  server.get('/readyz', (_request, reply) => {
    const problems = ready();
    return reply
      .code(problems.length === 0 ? 200 : 503)
      .send(problems.length === 0 ? 'ok' : `${problems.join('\n')}\n`);
  });
  await server.listen(bind);
  return { close: () => server.close() };
}
