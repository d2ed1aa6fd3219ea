import { hasFinalizer } from '../../shared/finalizers.ts';
import { milliseconds } from '../../shared/model/duration.ts';
import type { ServiceObject } from '../../shared/model/kubernetes.ts';
import { again, done, type Outcome, waiting } from '../../shared/events/outcome.ts';
import {
  CONDITION_INSTALL_STARTED,
  CONDITION_READY,
  conditionOf,
  reportProgressing,
  type StatusReport,
} from '../../shared/status.ts';
import { flowPosition } from '../step/flow.ts';
import type { CallResult } from '../../shared/provider/context.ts';
import type { StepResult } from '../step/run.ts';

/** Not being deleted, and ours: the finalizer says so, also of the one that a workspace is served by. */
export function mayInstall(object: ServiceObject, finalizer: string): boolean {
  return flowPosition(object, finalizer) === 'install' && hasFinalizer(object, finalizer);
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
 * When the object is looked at again: when the provider asked for it, else at the poll interval, and in any case when
 * its access has to be renewed.
 */
export function decideNextLook(
  result: CallResult,
  pollIntervalMs: number | undefined,
  renewAt: Date | undefined,
  now: Date,
): Outcome {
  const renewal = renewAt ? Math.max(0, renewAt.getTime() - now.getTime()) : undefined;
  const asked = result?.requeueAfter === undefined ? undefined : milliseconds(result.requeueAfter, 'requeueAfter');
  const regular = asked ?? (pollIntervalMs !== undefined && pollIntervalMs > 0 ? pollIntervalMs : undefined);
  if (regular === undefined && renewal === undefined) return done();
  if (renewal !== undefined && (regular === undefined || renewal < regular)) return again(renewal, 'RenewAccess');
  return again(regular as number, asked === undefined ? 'PollInterval' : 'RequeueAfter');
}
