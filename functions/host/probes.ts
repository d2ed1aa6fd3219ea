import type { FastifyInstance } from 'fastify';
import type { Logger } from 'pino';
import { messageOf } from '../../shared/errors.ts';

export interface ProbeOptions {
  /** Why the process isn't ready; empty when it is. */
  problems: () => readonly string[];
  /** Whether who comes with that `Authorization` header may read them. Undefined: nobody. */
  mayReadDetails?: ((authorization: string) => Promise<boolean>) | undefined;
  log: Logger;
}

/**
 * `GET /healthz`, and `/readyz`: 200 or 503, with a line for each reason for who may read it, and for all others, kubelets
 * among them, with nothing but `ok` or `not ready`: the reasons hold addresses and names. They are in the log in any case.
 */
export function serveProbes(app: FastifyInstance, { problems, mayReadDetails, log }: ProbeOptions): void {
  let said = '';
  app.get('/healthz', () => 'ok');
  app.get('/readyz', async ({ headers: { authorization } }, reply) => {
    const found = problems();
    const text = found.join('\n');
    if (text !== said) {
      if (text === '') log.info('ready');
      else log.warn({ problems: found }, 'not ready');
      said = text;
    }
    void reply.code(found.length === 0 ? 200 : 503).type('text/plain');
    if (found.length === 0) return 'ok';
    const details =
      authorization !== undefined &&
      (await mayReadDetails?.(authorization).catch((error: unknown) => {
        log.warn({ problem: messageOf(error) }, 'who asks for details could not be checked');
        return false;
      }));
    return details ? `${text}\n` : 'not ready\n';
  });
}
