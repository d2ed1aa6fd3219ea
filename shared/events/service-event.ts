import { createHash, randomUUID } from 'node:crypto';
import { CloudEvent } from 'cloudevents';
import { messageOf, RuntimeError } from '../errors.ts';
import { formatObjectKey, keyProblem, type Mode, type ObjectKey } from '../model/object-key.ts';
import { type EventType, isEventType, isUnknownVersion, type Reason } from './catalogue.ts';

/** An event about one object: it says which object to look at, never what to do, and carries no content of it. */
export interface ServiceEvent {
  readonly id: string;
  readonly type: EventType;
  readonly key: ObjectKey;
  readonly reason: string;
  /** As last seen by the sender; for people and traces. */
  readonly generation?: number | undefined;
  readonly traceparent?: string | undefined;
}

export interface EventDetails {
  reason: Reason;
  generation?: number | undefined;
  traceparent?: string | undefined;
}

export function serviceEvent(type: EventType, key: ObjectKey, details: EventDetails): ServiceEvent {
  return { id: randomUUID(), type, key, ...details };
}

/** Same object, same partition: 16 hex digits. */
export function partitionKey(key: ObjectKey): string {
  return createHash('sha256').update(formatObjectKey(key)).digest('hex').slice(0, 16);
}

/**
 * CloudEvents 1.0. The object's identity is in the attributes: `source`
 * `/serviceproviders/<provider>/<mode>/<cluster>`, `subject` `<namespace>/<name>`, extension `objectuid`.
 */
export function toCloudEvent(event: ServiceEvent): CloudEvent {
  const { key } = event;
  return new CloudEvent({
    id: event.id,
    type: event.type,
    source: `/serviceproviders/${key.provider}/${key.mode}/${key.cluster}`,
    subject: `${key.namespace}/${key.name}`,
    objectuid: key.uid,
    mode: key.mode,
    cluster: key.cluster,
    partitionkey: partitionKey(key),
    reason: event.reason,
    ...(event.generation === undefined ? {} : { generation: event.generation }),
    ...(event.traceparent === undefined ? {} : { traceparent: event.traceparent }),
  });
}

/**
 * Reads the structured JSON of a CloudEvent.
 * @returns the event, or its type where that is a version of ours that this process does not know
 * @throws RuntimeError `INVALID_EVENT` naming the attribute
 */
export function parseServiceEvent(json: unknown): ServiceEvent | { unknownVersion: string; key: ObjectKey } {
  let event: CloudEvent<unknown>;
  try {
    event = new CloudEvent(json as Partial<CloudEvent<unknown>>);
    event.validate();
  } catch (error) {
    throw new RuntimeError('INVALID_EVENT', `not a CloudEvent: ${messageOf(error).slice(0, 200)}`);
  }
  if (event.specversion !== '1.0')
    throw new RuntimeError('INVALID_EVENT', `specversion: ${event.specversion} is not supported; send 1.0`);
  const key = keyOf(event);
  if (isUnknownVersion(event.type)) return { unknownVersion: event.type, key };
  if (!isEventType(event.type)) throw new RuntimeError('INVALID_EVENT', `type: ${event.type} is not one of ours`);
  // A number in JSON, a text in a header.
  const generation = Number(event['generation'] ?? Number.NaN);
  const traceparent = event['traceparent'];
  return {
    id: event.id,
    type: event.type,
    key,
    reason: typeof event['reason'] === 'string' ? event['reason'].slice(0, LONGEST_REASON) : 'Unknown',
    ...(Number.isSafeInteger(generation) ? { generation } : {}),
    ...(typeof traceparent === 'string' && TRACEPARENT.test(traceparent) ? { traceparent } : {}),
  };
}

const LONGEST_REASON = 64;
/** What W3C Trace Context makes it of, and a little longer than that. */
const TRACEPARENT = /^[0-9a-f-]{1,64}$/;

/** Where the parts of a key stand; the parts themselves are {@link keyProblem}'s to judge. */
const SOURCE = /^\/serviceproviders\/([^/]*)\/([^/]*)\/([^/]*)$/;
const SUBJECT = /^([^/]*)\/([^/]*)$/;
const ATTRIBUTE: Readonly<Record<keyof ObjectKey, string>> = {
  provider: 'source',
  mode: 'source',
  cluster: 'source',
  namespace: 'subject',
  name: 'subject',
  uid: 'objectuid',
};
const EXPECTED: Readonly<Record<string, string>> = {
  source: 'expected /serviceproviders/<provider>/<mode>/<cluster>',
  subject: 'expected <namespace>/<name>',
};

function keyOf(event: CloudEvent<unknown>): ObjectKey {
  const source = SOURCE.exec(event.source);
  if (!source) throw new RuntimeError('INVALID_EVENT', `source: ${EXPECTED['source']}`);
  const subject = SUBJECT.exec(event.subject ?? '');
  if (!subject) throw new RuntimeError('INVALID_EVENT', `subject: ${EXPECTED['subject']}`);
  const uid = event['objectuid'];
  if (typeof uid !== 'string' || uid === '')
    throw new RuntimeError('INVALID_EVENT', `objectuid: the object's metadata.uid is missing`);
  const [, provider, mode, cluster] = source as unknown as [string, string, Mode, string];
  const [, namespace, name] = subject as unknown as [string, string, string];
  const key: ObjectKey = { provider, mode, cluster, namespace, name, uid };
  const wrong = keyProblem(key);
  if (!wrong) return key;
  const attribute = ATTRIBUTE[wrong.part];
  const expected = EXPECTED[attribute] === undefined ? '' : `${EXPECTED[attribute]}; `;
  throw new RuntimeError('INVALID_EVENT', `${attribute}: ${expected}${wrong.part}: ${wrong.problem}`);
}
