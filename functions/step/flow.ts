import { hasFinalizer } from '../../shared/finalizers.ts';
import type { ServiceObject } from '../../shared/model/kubernetes.ts';
import {
  CONDITION_INSTALL_STARTED,
  CONDITION_READY,
  CONDITION_UNINSTALLED,
  conditionOf,
  hasCondition,
  isDeleting,
  type StatusReport,
} from '../../shared/status.ts';
import { isFor, isNobodys, isOf, type Marks } from './marks.ts';
import type { Run } from './run.ts';

/**
 * Where an object is in its life: this one predicate decides in resolve-credentials which function comes next, and in that
 * function whether its turn has really come. Hence the two can't disagree.
 */
export type FlowPosition =
  /** Not being deleted. */
  | 'install'
  /** Being deleted; the provider has not yet said that all is gone. */
  | 'delete'
  /** The provider's part is gone: access is removed, and never ordered again. */
  | 'teardown'
  /** Being deleted and not held by us (any more). */
  | 'finished'
  /** Being deleted with our finalizer, which we never put there: its workspace is served by another object. */
  | 'not-served';

/**
 * A tenant can write status and finalizers as he likes, so the marks decide. The condition `Uninstalled` counts only where
 * no holder of marks is left, which no tenant can bring about, and hence nothing to remove.
 * @param marks not needed for an object that is not being deleted, or not held by us
 */
export function flowPosition(
  object: ServiceObject,
  { key, provider: { finalizer } }: Pick<Run, 'key' | 'provider'>,
  marks: Marks | undefined,
): FlowPosition {
  if (!isDeleting(object)) return 'install';
  // Taken away by somebody else, it changes nothing about what has to be removed.
  if (!hasFinalizer(object, finalizer) && (!marks || !isOf(marks, key))) return 'finished';
  if (!marks || isNobodys(marks)) return hasCondition(object, CONDITION_UNINSTALLED) ? 'teardown' : 'delete';
  if (marks.owner && !isFor(marks, key)) return 'not-served';
  return marks.uninstalled === undefined ? 'delete' : 'teardown';
}

/** Reasons that the runtime gives before a provider's createOrUpdate is called for the first time. */
export const REASONS_BEFORE_INSTALL = {
  noProviderConfig: 'ProviderConfigNotFound',
  providerConfigDeleting: 'ProviderConfigDeleting',
  invalidProviderConfig: 'InvalidProviderConfig',
  controlPlaneNotFound: 'ControlPlaneNotFound',
  clusterRequestNotFound: 'ClusterRequestNotFound',
  clusterNotFound: 'ClusterNotFound',
  waitingForClusterRequest: 'WaitingForClusterRequest',
  waitingForAccessRequest: 'WaitingForAccessRequest',
  waitingForClusterRequestDeletion: 'WaitingForClusterRequestDeletion',
  waitingForAccessRequestDeletion: 'WaitingForAccessRequestDeletion',
  requestKeepsChanging: 'RequestKeepsChanging',
  waitingForWorkspaceAccess: 'WaitingForWorkspaceAccess',
  waitingForEarlierObject: 'WaitingForEarlierObject',
  waitingForTenantNamespace: 'WaitingForTenantNamespace',
  claimNotAccepted: 'PermissionClaimNotAccepted',
  accessDenied: 'AccessDenied',
  foreignRequest: 'ForeignRequest',
  foreignObject: 'ForeignObject',
  rejected: 'Rejected',
  accessError: 'AccessError',
} as const;

const BEFORE_INSTALL = new Set<string>(Object.values(REASONS_BEFORE_INSTALL));

/**
 * Whether the provider's createOrUpdate may have run, so that its delete has to. The marks alone prove it; what else hints
 * at it is believed as well, since a delete too many does no harm: a tenant can have it run, and can't have it skipped.
 */
export function mayBeInstalled(object: ServiceObject, marks: Marks | undefined): boolean {
  return marks?.installed !== undefined || marks?.madeByAnother === true || !neverStarted(object);
}

/**
 * Whether nothing that the object shows hints at an installation. An object that came from another runtime shows a reason
 * that is not ours, and counts as started.
 */
export function neverStarted(object: ServiceObject): boolean {
  if (conditionOf(object, CONDITION_INSTALL_STARTED)) return false;
  const ready = conditionOf(object, CONDITION_READY);
  return ready === undefined || (ready.status === 'False' && BEFORE_INSTALL.has(ready.reason));
}

/**
 * The report with the mark `InstallStarted` where the object shows that another runtime has installed it: writing our
 * own reason would wipe out the only trace of that.
 */
export function keepStarted(object: ServiceObject, report: StatusReport): StatusReport {
  const named = report.conditions.some(({ type }) => type === CONDITION_INSTALL_STARTED);
  if (named || conditionOf(object, CONDITION_INSTALL_STARTED) || neverStarted(object)) return report;
  // Uninstalled, or never installed at all: nothing is left to remember.
  if (conditionOf(object, CONDITION_UNINSTALLED)) return report;
  return {
    ...report,
    conditions: [
      ...report.conditions,
      {
        type: CONDITION_INSTALL_STARTED,
        status: 'True',
        reason: 'Adopted',
        message: 'The object was served by another runtime before',
      },
    ],
  };
}
