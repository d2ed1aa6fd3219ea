import type { FastifyInstance } from 'fastify';
import { NO_EVENT, takeEventBodies } from '../../functions/host/event-bodies.ts';
import { messageOf, RuntimeError } from '../../shared/errors.ts';
import { contentMode, parseHttpEvent } from '../../shared/events/http-event.ts';
import type { ServiceEvent } from '../../shared/events/service-event.ts';

export interface PublishPort {
  provider: string;
  /** Puts an event on the queue. */
  publish(event: ServiceEvent): Promise<void>;
}

/**
 * `POST /publish` takes one CloudEvent, binary or structured, and puts it on the queue: 202 with its id; 400 with the
 * reason and 415 for what is no event of this provider, and then nothing is queued; 503 while the queue is away. Who may
 * is decided before, by whoever serves it.
 */
export function servePublish(server: FastifyInstance, { provider, publish }: PublishPort): void {
  takeEventBodies(server);
  server.post<{ Body: string | undefined }>('/publish', async ({ headers, body }, reply) => {
    if (!contentMode(headers)) return reply.code(415).send({ problem: NO_EVENT });
    let event: ServiceEvent;
    try {
      event = publishable(parseHttpEvent(headers, body ?? '').event, provider);
    } catch (error) {
      return reply.code(400).send({ problem: messageOf(error) });
    }
    try {
      await publish(event);
    } catch (error) {
      return reply
        .code(503)
        .header('retry-after', 1)
        .send({ problem: messageOf(error) });
    }
    return reply.code(202).send({ id: event.id });
  });
}

/**
 * Pure: the event, if it can be put on this provider's queue.
 * @throws RuntimeError `INVALID_EVENT` naming the attribute and the reason
 */
export function publishable(
  event: ServiceEvent | { unknownVersion: string; key: ServiceEvent['key'] },
  provider: string,
): ServiceEvent {
  if (event.key.provider !== provider)
    throw new RuntimeError('INVALID_EVENT', `source: it is for ${event.key.provider}; this is provider ${provider}`);
  if ('unknownVersion' in event)
    throw new RuntimeError('INVALID_EVENT', `type: ${event.unknownVersion} is of a version that is not known here`);
  return event;
}
