import { hasFinalizer } from '../../shared/finalizers.ts';
import { requeueMs } from '../../shared/model/duration.ts';
import type { ServiceObject } from '../../shared/model/kubernetes.ts';
import { again, done, type Outcome, waiting } from '../../shared/events/outcome.ts';
import {
  CONDITION_INSTALL_STARTED,
  CONDITION_READY,
  conditionOf,
  isDeleting,
  reportProgressing,
  type StatusReport,
} from '../../shared/status.ts';
import type { CallResult } from '../../shared/provider/context.ts';
import { installedMark, isOf, type Marks } from '../step/marks.ts';
import type { Run, StepResult } from '../step/run.ts';

/**
 * Not being deleted, held by us, and marked as about to be installed in this very state: the mark says too that a workspace
 * is served by it.
 */
export function mayInstall(
  object: ServiceObject,
  run: Pick<Run, 'key' | 'provider'>,
  marks: Marks | undefined,
): boolean {
  return (
    mayBeHeld(object, run) &&
    marks !== undefined &&
    isOf(marks, run.key) &&
    marks.installed === installedMark(object.metadata) &&
    marks.uninstalled === undefined
  );
}

/** As far as the object itself tells. */
export function mayBeHeld(object: ServiceObject, { provider }: Pick<Run, 'provider'>): boolean {
  return !isDeleting(object) && hasFinalizer(object, provider.finalizer);
}

/** The mark that has to be on the object before the provider does anything. Undefined: it is there. */
export function markInstallStarted(object: ServiceObject): StatusReport | undefined {
  if (conditionOf(object, CONDITION_INSTALL_STARTED)) return undefined;
  const started = {
    type: CONDITION_INSTALL_STARTED,
    status: 'True',
    reason: 'AccessGranted',
    message: 'The installation has begun',
  } as const;
  const ready = conditionOf(object, CONDITION_READY);
  // An object that another runtime has brought to Ready stays Ready.
  if (ready?.status === 'True') return { phase: 'Ready', conditions: [ready, started] };
  const report = reportProgressing('Reconciling', 'Reconcile in progress');
  return { ...report, conditions: [...report.conditions, started] };
}

/** A Secret that has to be copied isn't there; its creation wakes the object. */
export function waitForSecret(object: ServiceObject, secret: string): StepResult {
  const message = `Secret ${secret}, which the provider refers to, does not exist on the platform cluster; create it`;
  return {
    object,
    status: reportProgressing('ReferencedSecretNotFound', message),
    outcome: waiting(`Secret ${secret}`),
  };
}

/**
 * When the object is looked at again: exactly when the provider asked for it, else at the poll interval, and in any case
 * when its access has to be renewed. Poll intervals are spread by a tenth to both sides: what was installed together would
 * come together for ever.
 * @param random a number from 0 to 1
 */
export function decideNextLook(
  result: CallResult,
  pollIntervalMs: number | undefined,
  renewAt: Date | undefined,
  now: Date,
  random: number,
): Outcome {
  const renewal = renewAt ? Math.max(0, renewAt.getTime() - now.getTime()) : undefined;
  const asked = requeueMs(result);
  const polled =
    pollIntervalMs !== undefined && pollIntervalMs > 0 ? Math.round(pollIntervalMs * (0.9 + 0.2 * random)) : undefined;
  const regular = asked ?? polled;
  if (regular === undefined && renewal === undefined) return done();
  if (renewal !== undefined && (regular === undefined || renewal < regular)) return again(renewal, 'RenewAccess');
  return again(regular as number, asked === undefined ? 'PollInterval' : 'RequeueAfter');
}
