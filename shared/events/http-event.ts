import { type CloudEvent, HTTP } from 'cloudevents';
import { messageOf, RuntimeError } from '../errors.ts';
import { parseServiceEvent, type ServiceEvent, toCloudEvent } from './service-event.ts';

/** The HTTP protocol binding of CloudEvents 1.0, as functions take events. An event of ours has no data, and is small. */
export const MAX_EVENT_BYTES = 64 * 1024;
const STRUCTURED = 'application/cloudevents+json';

/** Headers with names in lower case, as Node gives them. */
export type HttpHeaders = Readonly<Record<string, string | readonly string[] | undefined>>;

export interface HttpEvent {
  readonly event: ReturnType<typeof parseServiceEvent>;
  /** How long the sender surely holds the object; undefined where it does not say. */
  readonly leaseSeconds: number | undefined;
}

/** Whether there is an event in the request at all, by its headers. A structured content type goes before `ce-` headers. */
export function contentMode(headers: HttpHeaders): 'structured' | 'binary' | undefined {
  const [type = '', ...parameters] = contentType(headers);
  if (type === STRUCTURED) return parameters.every(isUtf8) ? 'structured' : undefined;
  if (type.startsWith('application/cloudevents')) return undefined;
  return headers['ce-specversion'] === undefined && headers['ce-id'] === undefined ? undefined : 'binary';
}

/**
 * Reads an event from a request.
 * @throws RuntimeError `INVALID_EVENT` naming the attribute
 */
export function parseHttpEvent(headers: HttpHeaders, body: string): HttpEvent {
  let parsed: CloudEvent | CloudEvent[];
  try {
    // Whatever data comes along in binary mode: an event of ours has none, and nobody reads it.
    const { 'content-type': _unread, ...attributes } = headers;
    parsed = HTTP.toEvent(
      contentMode(headers) === 'structured'
        ? { headers: { 'content-type': STRUCTURED }, body }
        : { headers: attributes as Record<string, string>, body: undefined },
    ) as CloudEvent | CloudEvent[];
  } catch (error) {
    throw new RuntimeError('INVALID_EVENT', `not a CloudEvent: ${messageOf(error).slice(0, 200)}`);
  }
  const one = Array.isArray(parsed) ? parsed[0] : parsed;
  const event = parseServiceEvent(one?.toJSON());
  return { event, leaseSeconds: leaseSecondsOf(one) };
}

/** An event as a request in binary mode. @param leaseSeconds how long the object is held by the sender at the least */
export function httpEvent(event: ServiceEvent, leaseSeconds?: number): { headers: Record<string, string> } {
  const cloudEvent = toCloudEvent(event);
  const { headers } = HTTP.binary(
    leaseSeconds === undefined ? cloudEvent : cloudEvent.cloneWith({ leaseseconds: Math.floor(leaseSeconds) }),
  );
  const { 'content-type': _unused, ...rest } = headers as Record<string, unknown>;
  return { headers: Object.fromEntries(Object.entries(rest).map(([name, value]) => [name, String(value)])) };
}

function contentType(headers: HttpHeaders): string[] {
  const { 'content-type': given = '' } = headers;
  return (typeof given === 'string' ? given : (given[0] ?? '')).split(';').map((part) => part.trim().toLowerCase());
}

function isUtf8(parameter: string): boolean {
  const [name, value = ''] = parameter.split('=').map((part) => part.trim());
  return name !== 'charset' || value.replace(/^"|"$/g, '') === 'utf-8';
}

function leaseSecondsOf(event: CloudEvent | undefined): number | undefined {
  const given = event?.['leaseseconds'];
  if (given === undefined) return undefined;
  const seconds = Number(given);
  if (Number.isFinite(seconds) && seconds > 0) return seconds;
  throw new RuntimeError('INVALID_EVENT', 'leaseseconds: expected a number of seconds above 0');
}
