import { fastify, type FastifyInstance, type FastifyServerOptions } from 'fastify';

/**
 * Fastify without the compilers of schemas for requests and replies, which nothing here uses and which cost a process some
 * MiB and time at its start.
 */
export function plainFastify(options: FastifyServerOptions = {}): FastifyInstance {
  const refuse = () => () => {
    throw new Error('this server has no schemas');
  };
  return fastify({
    ...options,
    schemaController: { compilersFactory: { buildValidator: refuse, buildSerializer: refuse } },
  } as FastifyServerOptions);
}
