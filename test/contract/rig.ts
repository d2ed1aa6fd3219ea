import { type EventType, type FunctionName, INSTALL_REQUESTED, OBJECT_CHANGED } from '../../shared/events/catalogue.ts';
import { done, type Outcome } from '../../shared/events/outcome.ts';
import { type ServiceEvent, serviceEvent, toCloudEvent } from '../../shared/events/service-event.ts';
import { formatObjectKey, type ObjectKey } from '../../shared/model/object-key.ts';
import type { Call } from './hosts.ts';
import { eventually } from '../support/wait.ts';

/** The function that all hosts run in these tests: one in the middle of the flow. */
export const FUNCTION: FunctionName = 'provider-install';
export const PROVIDER = 'foo';
/** Short, so that what may still run is over soon. */
export const RUN_LIMIT_MS = 3_000;
export const LEASE_MS = 1_500;
export const CONCURRENCY = 3;
/** What every host in these tests is told. */
export const COMMON_ORDER = {
  provider: PROVIDER,
  functionName: FUNCTION,
  concurrency: CONCURRENCY,
  runLimitMs: RUN_LIMIT_MS,
  leaseMs: LEASE_MS,
};

/** What has become of an object. */
export interface Effect {
  /** Events that were asked for since the last look. */
  readonly next: readonly EventType[];
  /** When the object is looked at again by itself, in milliseconds from now. */
  readonly timer: number | undefined;
  readonly failures: number;
}

/** A function behind one kind of host, and whoever sends to it. */
export interface Rig {
  /** Every call of the function so far, whichever process did it, oldest first. */
  readonly calls: readonly Call[];
  /** Sends what is, or should be, the JSON of a CloudEvent. */
  deliver(data: unknown): Promise<void>;
  effect(key: ObjectKey): Promise<Effect>;
  /** Nothing is on its way or runs. */
  idle(): Promise<void>;
  /** Kills the process that sends, where that is another than the function's; and starts another. */
  crashSender?(): Promise<void>;
  /** Starts another process of the function after one was killed. */
  another(): Promise<void>;
  /** Lines of the hosts' logs. */
  logged(): string;
  stop(): Promise<void>;
}

export type MakeRig = (options?: { concurrency?: number }) => Promise<Rig>;

let count = 0;

/** An object that no other test knows. */
export function newKey(fields: Partial<ObjectKey> = {}): ObjectKey {
  count += 1;
  const cluster = fields.mode === 'kcp' ? '2hj3kx' : 'onboarding';
  return {
    provider: PROVIDER,
    mode: 'standard',
    cluster,
    // Each of another tenant: how many of one are worked on at once is bounded, too.
    namespace: `project-${count}`,
    name: `shop-${count}`,
    uid: `uid-${count}`,
    ...fields,
  };
}

export function eventOf(key: ObjectKey, fields: Partial<ServiceEvent> = {}): ServiceEvent {
  return { ...serviceEvent(INSTALL_REQUESTED, key, { reason: 'NextStep' }), ...fields };
}

/** The JSON of an event, with other attributes where that is asked. */
export function jsonOf(event: ServiceEvent, attributes: Record<string, unknown> = {}): Record<string, unknown> {
  return { ...toCloudEvent(event).toJSON(), ...attributes };
}

/** The first call for an object, or the one after so many others. */
export function callFor(rig: Rig, key: ObjectKey, after = 0): Promise<Call> {
  const id = formatObjectKey(key);
  return eventually(`call ${after + 1} for ${key.name}`, () => callsFor(rig, id)[after]);
}

export function callsFor(rig: Rig, id: string): Call[] {
  return rig.calls.filter(({ event }) => formatObjectKey(event.key) === id);
}

/** Delivers an event and lets the function answer. */
export async function answered(rig: Rig, outcome: Outcome | Error, key = newKey()): Promise<Effect> {
  await rig.deliver(jsonOf(eventOf(key)));
  const call = await callFor(rig, key);
  if (outcome instanceof Error) call.fail(outcome.message);
  else call.end(outcome);
  await rig.idle();
  return rig.effect(key);
}

/** Called once more, or sent back to the start, or due by a timer: each means that the object is looked at again. */
export async function looksAgain(
  rig: Rig,
  key: ReturnType<typeof newKey>,
  timeout = 30_000,
  endThem = true,
): Promise<void> {
  const id = formatObjectKey(key);
  const before = callsFor(rig, id).length;
  await eventually(
    `${key.name} is looked at again`,
    async (seen) => {
      const effect = await rig.effect(key);
      const calls = callsFor(rig, id);
      seen({ effect, calls: calls.length });
      if (endThem) calls.slice(1).forEach((call) => call.end(done()));
      return calls.length > Math.max(1, before) || effect.next.includes(OBJECT_CHANGED) || effect.timer !== undefined;
    },
    { timeout },
  );
}
