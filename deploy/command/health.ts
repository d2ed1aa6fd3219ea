import { fastify } from 'fastify';
import { RuntimeError } from '../../shared/errors.ts';

export interface HealthServer {
  close(): Promise<void>;
}

/**
 * `:8081` (all interfaces), `host:port`, or `0` for none.
 * @throws RuntimeError `INVALID_SETTINGS` for anything else: probes that nobody answers would be found out much later
 */
export function parseBindAddress(
  address: string,
  flag = '--health-probe-bind-address',
): { host: string; port: number } | undefined {
  if (address === '0' || address === '') return undefined;
  const match = /^(.*):(\d+)$/.exec(address);
  const port = Number(match?.[2]);
  if (!match || port > 65_535)
    throw new RuntimeError('INVALID_SETTINGS', `${flag} ${address}: expected :8081, host:8081, or 0 for none`);
  const host = (match[1] as string).replace(/^\[|\]$/g, '');
  return { host: host === '' ? '0.0.0.0' : host, port };
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
