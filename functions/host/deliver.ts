import type { Logger } from 'pino';
import { messageOf, RuntimeError } from '../../shared/errors.ts';
import {
  type FunctionName,
  OBJECT_CHANGED,
  type Reason,
  reasonOfNext,
  RECEIVER,
} from '../../shared/events/catalogue.ts';
import { MAX_EVENT_BYTES } from '../../shared/events/http-event.ts';
import { parseServiceEvent, type ServiceEvent, serviceEvent } from '../../shared/events/service-event.ts';
import { displayKey, formatObjectKey } from '../../shared/model/object-key.ts';
import { failed, type Outcome } from '../../shared/events/outcome.ts';
import type { DeliveryState } from '../../shared/queue/delivery-state.ts';
import type { Priority, Publisher } from '../../shared/queue/publisher.ts';
import { UNKNOWN_VERSION_RETRY_MS } from '../../shared/tuning.ts';
import { SHARE_RETRY_MS } from '../tuning.ts';
import type { Hold } from '../step/hold.ts';
import { type LeaseTimes, ObjectLease } from './lease.ts';
import { settlementOf, startsOver } from './settle.ts';
import type { TenantBound } from './tenant-bound.ts';

/** Does one invocation. Must not reject; a rejection counts as a retryable failure all the same. */
export type Invoke = (event: ServiceEvent, hold: Hold) => Promise<Outcome>;

export interface DeliveryPorts {
  provider: string;
  functionName: FunctionName;
  state: DeliveryState;
  publisher: Publisher;
  invoke: Invoke;
  times: LeaseTimes;
  /** How many of one tenant's objects are worked on at once in this process; without it, any number. */
  bound?: TenantBound;
  log: Logger;
  /** What happened in each invocation, for people who watch. */
  onStep?: (step: DeliveredStep) => void;
}

export interface DeliveredStep {
  event: ServiceEvent;
  functionName: FunctionName;
  outcome: Outcome;
  durationMs: number;
}

/** What became of a job, for whoever follows a queue's events: BullMQ keeps it for a while. */
export interface DeliveredJob {
  /** As {@link formatObjectKey} writes it. */
  object: string;
  /** `held`: another invocation has the object, and sees to it that it is looked at again. */
  end: 'done' | 'held' | 'again-from-the-start';
  outcome?: Outcome;
  durationMs?: number;
}

/**
 * The loop of one job: parse → lease → invoke → settle → parked? publish again → next events. Rejects only when Redis
 * does; BullMQ then runs the job again. Each rule is explained in the delivery protocol (CONTRIBUTING.md).
 */
export async function deliver(
  data: unknown,
  priority: Priority,
  ports: DeliveryPorts,
): Promise<DeliveredJob | undefined> {
  const event = await accept(data, priority, ports);
  if (!event) return undefined;
  if (!ports.bound) return deliverOne(event, priority, ports);
  const leave = ports.bound.enter(event.key);
  if (!leave) {
    // From the start it finds its way back here, and its place is somebody else's meanwhile.
    await ports.state.lookAgain(event.key, SHARE_RETRY_MS * (1 + Math.random()));
    return { object: formatObjectKey(event.key), end: 'held' };
  }
  const started = performance.now();
  try {
    return await deliverOne(event, priority, ports);
  } finally {
    leave(performance.now() - started);
  }
}

async function deliverOne(event: ServiceEvent, priority: Priority, ports: DeliveryPorts): Promise<DeliveredJob> {
  const { key } = event;
  const lease = await ObjectLease.acquire(ports.state, key, ports.times);
  if (!lease) {
    ports.log.debug({ object: displayKey(key) }, 'held by another invocation: parked');
    return { object: formatObjectKey(key), end: 'held' };
  }
  try {
    return await underLease(event, lease, priority, ports);
  } finally {
    // Whatever failed: what nobody works on any more is not held on to.
    lease.end();
  }
}

async function underLease(
  event: ServiceEvent,
  lease: ObjectLease,
  priority: Priority,
  ports: DeliveryPorts,
): Promise<DeliveredJob> {
  const { key } = event;
  const object = formatObjectKey(key);
  const publishAgain = (reason: Reason, as: Priority) =>
    ports.publisher.publish(serviceEvent(OBJECT_CHANGED, key, { reason, traceparent: event.traceparent }), as);
  if (!lease.valid) {
    // The event loop stood still for as long as the lease lasts.
    await publishAgain('LeaseLost', priority);
    return { object, end: 'again-from-the-start' };
  }
  const { outcome, durationMs } = await timed(() => ports.invoke(event, lease));
  const attempts = outcome.kind === 'failed' || startsOver(outcome) ? await ports.state.attempts(key) : 0;
  const settlement = settlementOf(outcome, attempts, Math.random());
  const parked = await lease.settle(settlement);
  ports.onStep?.({ event, functionName: ports.functionName, outcome, durationMs });
  if (parked === undefined) {
    ports.log.warn({ object: displayKey(key) }, 'the lease was lost during the invocation');
    await publishAgain('LeaseLost', priority);
    return { object, end: 'again-from-the-start', outcome, durationMs };
  }
  const job: DeliveredJob = { object, end: 'done', outcome, durationMs };
  // Still held: whoever came for it meanwhile is told by the bridge, once it is free.
  if (settlement.heldMs) return job;
  if (parked > 0) {
    // A change that came meanwhile. The mark goes after it was published, and only if nobody parked again.
    await publishAgain('Parked', 'user');
    await ports.state.forgetParked({ key, member: object, score: String(parked) });
    // From the start the same next step is found, with the change in view: sent as well, it would be done twice.
    return { ...job, end: 'again-from-the-start' };
  }
  if (outcome.kind !== 'done') return job;
  if (startsOver(outcome) && settlement.timer !== 'keep') {
    ports.log.warn({ object: displayKey(key) }, 'it goes back to the start again and again: after a pause now');
    return job;
  }
  for (const type of outcome.next)
    await ports.publisher.publish(
      serviceEvent(type, key, {
        reason: reasonOfNext(type),
        generation: event.generation,
        traceparent: event.traceparent,
      }),
      priority,
    );
  return job;
}

/** The event if this function can work on it. Others are logged, and none is lost. */
async function accept(data: unknown, priority: Priority, ports: DeliveryPorts): Promise<ServiceEvent | undefined> {
  let event: ReturnType<typeof parseServiceEvent>;
  try {
    if (JSON.stringify(data)?.length > MAX_EVENT_BYTES)
      throw new RuntimeError('INVALID_EVENT', `an event has at most ${MAX_EVENT_BYTES} bytes`);
    event = parseServiceEvent(data);
  } catch (error) {
    // It names no object: there is nothing to look at. A real change comes again with the next resync.
    ports.log.error({ err: { message: messageOf(error) } }, 'event refused');
    return undefined;
  }
  if (event.key.provider !== ports.provider) {
    ports.log.error({ provider: event.key.provider }, 'event refused: it is for another provider');
    return undefined;
  }
  if ('unknownVersion' in event) {
    const { key, unknownVersion: type } = event;
    if (await ports.state.handBack(key, UNKNOWN_VERSION_RETRY_MS)) {
      ports.log.warn({ type, object: displayKey(key) }, 'event of an unknown version: handed back');
      return undefined;
    }
    // Whoever sends it stays, and whoever knows it does not come: whose it is says all that counts.
    ports.log.warn(
      { type, object: displayKey(key) },
      'event of a version that nobody here knows: its object is looked at from the start',
    );
    await ports.publisher.publish(serviceEvent(OBJECT_CHANGED, key, { reason: 'UnknownVersion' }), priority);
    return undefined;
  }
  if (RECEIVER[event.type] !== ports.functionName) {
    ports.log.warn({ type: event.type }, 'event in the wrong queue: sent back to the start');
    await ports.publisher.publish(serviceEvent(OBJECT_CHANGED, event.key, { reason: 'PreconditionFailed' }), 'user');
    return undefined;
  }
  return event;
}

async function timed(invoke: () => Promise<Outcome>): Promise<{ outcome: Outcome; durationMs: number }> {
  const started = performance.now();
  let outcome: Outcome;
  try {
    outcome = await invoke();
  } catch (error) {
    outcome = failed(messageOf(error));
  }
  return { outcome, durationMs: performance.now() - started };
}
