import { messageOf, RuntimeError } from '../../shared/errors.ts';
import { type EventType, isEventType, OBJECT_CHANGED, RECEIVER } from '../../shared/events/catalogue.ts';
import { parseServiceEvent, type ServiceEvent, serviceEvent } from '../../shared/events/service-event.ts';
import { keyProblem, type ObjectKey, ONBOARDING_CLUSTER } from '../../shared/model/object-key.ts';
import { publishable } from './publish-endpoint.ts';

export interface EventFlags {
  /** `<namespace>/<name>` */
  object?: string;
  /** Logical cluster: kcp mode. */
  workspace?: string;
  uid?: string;
  /** Whole, or short such as `install.requested`. */
  type: string;
}

/**
 * Pure: the object that flags name; its uid is empty where that is still to be looked up.
 * @throws RuntimeError `INVALID_SETTINGS` naming the flag
 */
export function keyOfFlags({ object, workspace, uid = '' }: EventFlags, provider: string): ObjectKey {
  const [, namespace, name] = /^([^/]+)\/([^/]+)$/.exec(object ?? '') ?? [];
  if (!namespace || !name)
    throw new RuntimeError('INVALID_SETTINGS', `--object ${object ?? ''}: expected <namespace>/<name>, or give --file`);
  const key: ObjectKey =
    workspace === undefined
      ? { provider, mode: 'standard', cluster: ONBOARDING_CLUSTER, namespace, name, uid }
      : { provider, mode: 'kcp', cluster: workspace, namespace, name, uid };
  // Before anything is looked up by it.
  const wrong = keyProblem(uid === '' ? { ...key, uid: 'unknown' } : key);
  if (wrong) throw new RuntimeError('INVALID_SETTINGS', `${FLAG[wrong.part]}: ${wrong.part}: ${wrong.problem}`);
  return key;
}

const FLAG: Readonly<Record<keyof ObjectKey, string>> = {
  provider: '--provider-name',
  mode: '--workspace',
  cluster: '--workspace',
  namespace: '--object',
  name: '--object',
  uid: '--uid',
};

/** Pure: `install.requested`, or the whole type. @throws RuntimeError `INVALID_SETTINGS` listing the types that there are */
export function typeOfFlag(given: string): EventType {
  const known = Object.keys(RECEIVER).filter(isEventType);
  const found = known.find((type) => type === given || shortType(type) === given);
  if (found) return found;
  throw new RuntimeError('INVALID_SETTINGS', `--type ${given}: choose one of ${known.map(shortType).join(', ')}`);
}

/** Pure: the event that flags describe, checked as one that came from outside. */
export function eventOfFlags(key: ObjectKey, type: EventType = OBJECT_CHANGED): ServiceEvent {
  return serviceEvent(type, key, { reason: 'Published' });
}

/**
 * Pure: the events in a text: one CloudEvent in JSON, a list of them, or one a line.
 * @throws RuntimeError `INVALID_EVENT` naming which one is wrong and why; then none is to be sent
 */
export function eventsOfText(text: string, provider: string): ServiceEvent[] {
  const found = documents(text);
  if (found.length === 0) throw new RuntimeError('INVALID_EVENT', 'there is no event; expected CloudEvents in JSON');
  return found.map((one, index) => {
    try {
      return publishable(parseServiceEvent(one), provider);
    } catch (error) {
      throw new RuntimeError('INVALID_EVENT', `event ${index + 1} of ${found.length}: ${messageOf(error)}`);
    }
  });
}

function documents(text: string): unknown[] {
  try {
    return [JSON.parse(text) as unknown].flat();
  } catch {
    const lines = text.split('\n').filter((line) => line.trim() !== '');
    return lines.map((line, index) => {
      try {
        return JSON.parse(line) as unknown;
      } catch (error) {
        throw new RuntimeError('INVALID_EVENT', `line ${index + 1}: ${messageOf(error)}`);
      }
    });
  }
}

function shortType(type: EventType): string {
  return type.split('.').slice(-3, -1).join('.');
}
