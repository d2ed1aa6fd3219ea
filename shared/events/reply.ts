import { z } from 'zod';
import { RuntimeError } from '../errors.ts';
import { formatObjectKey } from '../model/object-key.ts';
import { type EventType, reasonOfNext } from './catalogue.ts';
import type { HttpHeaders } from './http-event.ts';
import type { Outcome } from './outcome.ts';
import { parseServiceEvent, type ServiceEvent, serviceEvent, toCloudEvent } from './service-event.ts';

/**
 * How a function answers over HTTP, with status 200. The header `service-provider-outcome` has the kind. What follows:
 * - `done` with one next event: that event, structured; with several: a batch; with none: an empty body;
 * - `again`: the header `service-provider-after` has milliseconds;
 * - all others, and `again` as well: the outcome as JSON.
 * So a Knative broker sends next events on by itself, and a dispatcher needs nothing but this.
 */
export const OUTCOME_HEADER = 'service-provider-outcome';
export const AFTER_HEADER = 'service-provider-after';
const EVENT = 'application/cloudevents+json; charset=utf-8';
const BATCH = 'application/cloudevents-batch+json; charset=utf-8';

export interface HttpReply {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Pure: the reply of an outcome. @param event the one that was worked on */
export function toReply(outcome: Outcome, event: Pick<ServiceEvent, 'key' | 'generation' | 'traceparent'>): HttpReply {
  const headers = { [OUTCOME_HEADER]: outcome.kind };
  if (outcome.kind !== 'done') {
    const after = outcome.kind === 'again' ? { [AFTER_HEADER]: String(Math.ceil(outcome.afterMs)) } : {};
    return { headers: { ...headers, ...after, 'content-type': 'application/json' }, body: JSON.stringify(outcome) };
  }
  const { key, generation, traceparent } = event;
  const events = outcome.next.map((type) =>
    toCloudEvent(serviceEvent(type, key, { reason: reasonOfNext(type), generation, traceparent })).toJSON(),
  );
  if (events.length === 0) return { headers, body: '' };
  const [only, ...more] = events;
  return more.length === 0
    ? { headers: { ...headers, 'content-type': EVENT }, body: JSON.stringify(only) }
    : { headers: { ...headers, 'content-type': BATCH }, body: JSON.stringify(events) };
}

/**
 * Pure: reads what {@link toReply} wrote.
 * @throws RuntimeError `INVALID_EVENT` saying what is wrong with it; nothing is known then about what was done
 */
export function fromReply(headers: HttpHeaders, body: string, event: Pick<ServiceEvent, 'key'>): Outcome {
  const kind = headers[OUTCOME_HEADER];
  if (kind === 'done') return { kind, next: body === '' ? [] : [parsed(body)].flat().map((one) => nextOf(one, event)) };
  const outcome = REPLY.safeParse(parsed(body));
  if (outcome.success && outcome.data.kind === kind) return outcome.data;
  throw new RuntimeError('INVALID_EVENT', `reply: no outcome, or another than ${OUTCOME_HEADER}: ${String(kind)}`);
}

const REPLY = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('again'), afterMs: z.number().min(0), reason: z.string() }),
  z.object({ kind: z.literal('waiting'), for: z.string() }),
  z.object({
    kind: z.literal('failed'),
    message: z.string(),
    permanent: z.boolean(),
    notBeforeMs: z.number().min(0).optional(),
    of: z.string().max(64).exactOptional(),
  }),
]);

function parsed(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    throw new RuntimeError('INVALID_EVENT', 'reply: the body is no JSON');
  }
}

function nextOf(json: unknown, { key }: Pick<ServiceEvent, 'key'>): EventType {
  const next = parseServiceEvent(json);
  if ('unknownVersion' in next)
    throw new RuntimeError('INVALID_EVENT', `reply: ${next.unknownVersion} is of a version that is not known here`);
  if (formatObjectKey(next.key) !== formatObjectKey(key))
    throw new RuntimeError('INVALID_EVENT', 'reply: the next event is about another object');
  return next.type;
}
