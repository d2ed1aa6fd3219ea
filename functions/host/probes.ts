import type { FastifyInstance } from 'fastify';

/** `GET /healthz`, and `/readyz`: 200, or 503 with a line for each reason. */
export function serveProbes(app: FastifyInstance, problems: () => readonly string[]): void {
  app.get('/healthz', () => 'ok');
  app.get('/readyz', (_request, reply) => {
    const found = problems();
    return reply.code(found.length === 0 ? 200 : 503).send(found.length === 0 ? 'ok' : `${found.join('\n')}\n`);
  });
}
