import { equal, mergePatchOf } from './model/json.ts';
import { shortenName } from './names.ts';
import type { Condition, ServiceObject } from './model/kubernetes.ts';

/** `phase` of a Service API object; `api/common` of openmcp-operator. */
export type Phase = 'Progressing' | 'Ready' | 'Terminating';

/** The condition that tells readiness; the Go runtime's. */
export const CONDITION_READY = 'Ready';
/** Ours: the provider's createOrUpdate may have run, so its delete has to run too. */
export const CONDITION_INSTALL_STARTED = 'InstallStarted';
/** Ours: the provider has said that all is gone; from here on access is removed and never ordered again. */
export const CONDITION_UNINSTALLED = 'Uninstalled';

export const RUNTIME_CONDITIONS: readonly string[] = [
  CONDITION_READY,
  CONDITION_INSTALL_STARTED,
  CONDITION_UNINSTALLED,
];

export type ConditionReport = Pick<Condition, 'type' | 'status' | 'reason' | 'message'>;

/** What is to be on an object after an invocation. Conditions and fields that are not named stay as they are. */
export interface StatusReport {
  phase: Phase;
  conditions: ConditionReport[];
  /** Fields of the provider's own; `undefined` removes one. */
  fields?: Record<string, unknown>;
  /** Whose words it is in; default: the runtime's, which quotes whatever errors there are. */
  words?: 'author';
}

declare const FOR_TENANTS: unique symbol;
/** A report out of which everything was taken that tenants may not read: nothing else can be written onto an object. */
export type TenantReport = StatusReport & { readonly [FOR_TENANTS]: true };

/** Reasons of the Go runtime that others may look for. */
export const REASON_RECONCILE_SUCCESS = 'ReconcileSuccess';
export const REASON_RECONCILE_ERROR = 'ReconcileError';
export const REASON_TERMINATING = 'Terminating';

const ready = (status: 'True' | 'False', reason: string, message: string): ConditionReport => ({
  type: CONDITION_READY,
  status,
  reason,
  message,
});

export function reportReady(message = 'Domain Service is ready'): StatusReport {
  return { phase: 'Ready', conditions: [ready('True', REASON_RECONCILE_SUCCESS, message)] };
}

export function reportProgressing(reason: string, message: string): StatusReport {
  return { phase: 'Progressing', conditions: [ready('False', reason, message)] };
}

export function reportTerminating(reason = REASON_TERMINATING, message = 'Cleanup in progress'): StatusReport {
  return { phase: 'Terminating', conditions: [ready('False', reason, message)] };
}

/** The mark that the provider's part is gone, besides what else is said; from here on access is only removed. */
export function reportUninstalled(reason: string, message: string, report = reportTerminating()): StatusReport {
  const uninstalled: ConditionReport = { type: CONDITION_UNINSTALLED, status: 'True', reason, message };
  return { ...report, conditions: [...report.conditions, uninstalled] };
}

/** Progressing, or Terminating for an object that is being deleted. */
export function reportNotReady(object: ServiceObject, reason: string, message: string): StatusReport {
  return isDeleting(object) ? reportTerminating(reason, message) : reportProgressing(reason, message);
}

export function isDeleting(object: { metadata: { deletionTimestamp?: string } }): boolean {
  return object.metadata.deletionTimestamp !== undefined;
}

export function conditionOf(object: ServiceObject, type: string): Condition | undefined {
  return object.status?.conditions?.find((condition) => condition.type === type);
}

export function hasCondition(object: ServiceObject, type: string): boolean {
  return conditionOf(object, type)?.status === 'True';
}

/** What `metav1.Condition` asks of a reason and a type, or the API server refuses the whole status. */
export const REASON = /^[A-Za-z]([A-Za-z0-9_,:]{0,1022}[A-Za-z0-9_])?$/;
export const TYPE =
  /^(?=.{1,316}$)([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\/)?([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$/;
const MAX_TYPE_LENGTH = 316;
const MAX_REASON_LENGTH = 1_024;
const MAX_MESSAGE_LENGTH = 4_096;

/**
 * A condition's type as an API server takes it: what is not allowed becomes `_`, as in the Go library; empty where no letter
 * or digit is in it.
 */
export function mendedType(type: string): string {
  if (TYPE.test(type)) return type;
  const mended = shortenName(type.replaceAll(/[^A-Za-z0-9_.-]/g, '_'), MAX_TYPE_LENGTH);
  return mended.replaceAll(/^[^A-Za-z0-9]+|[^A-Za-z0-9]+$/g, '');
}

/** The same for the reason of a condition; where nothing is left of it, `<type>_<status>`. */
export function mendedReason(reason: string, { type, status }: Pick<Condition, 'type' | 'status'>): string {
  const mend = (text: string): string =>
    text
      .replaceAll(/[^A-Za-z0-9_,:]/g, '_')
      .replace(/^[^A-Za-z]+/, '')
      .slice(0, MAX_REASON_LENGTH)
      .replace(/[,:]+$/, '');
  return mend(reason) || mend(`${type}_${status}`) || REASON_RECONCILE_ERROR;
}

/**
 * The merge patch of `/status` that brings the report onto the object, or `undefined` when it is all there already.
 * `lastTransitionTime` moves only when a condition's status flips. The patch holds the resourceVersion that it was made
 * from, since conditions are one list: a conflict means read again.
 */
export function statusPatch(object: ServiceObject, report: TenantReport, now: Date): object | undefined {
  const generation = object.metadata.generation ?? 0;
  const before = object.status ?? {};
  const conditions = mergeConditions(before.conditions ?? [], report.conditions, generation, now);
  const status: Record<string, unknown> = {};
  for (const [field, value] of Object.entries(report.fields ?? {})) {
    const change = mergePatchOf(before[field], value);
    if (change !== undefined) status[field] = change;
  }
  if (before.phase !== report.phase) status['phase'] = report.phase;
  if (before.observedGeneration !== generation) status['observedGeneration'] = generation;
  if (!equal(before.conditions ?? [], conditions)) status['conditions'] = conditions;
  if (Object.keys(status).length === 0) return undefined;
  // The Go type requires both; they are there however small the patch is.
  status['phase'] = report.phase;
  status['observedGeneration'] = generation;
  return { metadata: { resourceVersion: object.metadata.resourceVersion }, status };
}

/**
 * Pure: the conditions with what is reported. Those that are not named stay; `lastTransitionTime` moves only when a status
 * flips; what the API server would refuse is mended.
 * @param generation what the reports are about
 */
export function mergeConditions(
  before: readonly Condition[],
  reports: readonly ConditionReport[],
  generation: number,
  now: Date,
): Condition[] {
  const time = `${now.toISOString().slice(0, -'.000Z'.length)}Z`;
  // The list is written as a whole: one that somebody else has spoilt would take all others along.
  const merged = new Map(before.map((each) => mended(each, time)).map((each) => [each.type, each]));
  for (const report of reports) {
    const old = merged.get(report.type);
    merged.set(report.type, {
      type: report.type,
      status: report.status,
      reason: mendedReason(report.reason, report),
      // Cut in the middle of a character, the server would store another text than we compare with.
      message: report.message.slice(0, MAX_MESSAGE_LENGTH).toWellFormed(),
      observedGeneration: generation,
      lastTransitionTime: old && old.status === report.status ? old.lastTransitionTime : time,
    });
  }
  return [...merged.values()].filter(({ type }) => type !== '');
}

/** Types of before asked for less. */
type AnyCondition = Omit<Condition, 'reason'> & { reason?: string };

function mended(condition: AnyCondition, time: string): Condition {
  const { type, reason = '', lastTransitionTime } = condition;
  const named = { ...condition, reason, type: mendedType(type) };
  if (named.type === type && REASON.test(reason) && lastTransitionTime) return named;
  return { ...named, reason: mendedReason(reason, named), lastTransitionTime: lastTransitionTime || time };
}
