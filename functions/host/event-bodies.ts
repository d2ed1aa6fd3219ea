import type { FastifyInstance } from 'fastify';
import { MAX_EVENT_BYTES } from '../../shared/events/http-event.ts';

/** What a request is told that holds no CloudEvent by its headers (415). */
export const NO_EVENT = 'send application/cloudevents+json in UTF-8, or ce-… headers';

/** Bodies of any type come as the text that they are, since the headers tell where the event is; larger ones are a 413. */
export function takeEventBodies(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'string', bodyLimit: MAX_EVENT_BYTES }, (_request, body, ready) =>
    ready(null, body),
  );
}
