import { DELETE_REQUESTED, INSTALL_REQUESTED, TEARDOWN_REQUESTED } from '../../shared/events/catalogue.ts';
import type { ServiceObject } from '../../shared/model/kubernetes.ts';
import { again, done, waiting } from '../../shared/events/outcome.ts';
import { isDeleting, reportNotReady, reportProgressing, reportUninstalled } from '../../shared/status.ts';
import { type AccessVerdicts, grantedAccess, worst } from '../step/verdict.ts';
import type { ConfigState } from '../step/config-state.ts';
import { REASONS_BEFORE_INSTALL as REASON } from '../step/flow.ts';
import type { StepResult } from '../step/run.ts';
import { EARLIER_OBJECT_RETRY_MS } from '../tuning.ts';

/** Nothing can be done without the ProviderConfig; its change wakes the object. */
export function waitForConfig(object: ServiceObject, config: Extract<ConfigState, { state: 'unusable' }>): StepResult {
  return { status: reportNotReady(object, config.reason, config.message), outcome: waiting('ProviderConfig') };
}

/** Another object of the workspace was first; its end wakes this one. */
export function reject(winner: { namespace: string; name: string }): StepResult {
  return {
    status: reportProgressing(
      REASON.rejected,
      `Only one is served in a workspace: ${winner.namespace}/${winner.name} is older; this one follows when that is deleted`,
    ),
    outcome: waiting(`the end of ${winner.namespace}/${winner.name}`),
  };
}

/** What an object that is gone left behind is removed first; nothing tells when the last of it is gone. */
export function waitForEarlier(owner: { namespace: string; name: string }): StepResult {
  return {
    status: reportProgressing(
      REASON.waitingForEarlierObject,
      `${owner.namespace}/${owner.name}, which was served before, is gone, and what it left behind is still being removed`,
    ),
    outcome: again(EARLIER_OBJECT_RETRY_MS, REASON.waitingForEarlierObject),
  };
}

/** A deletion of something that was never installed goes straight to the teardown. */
export function skipDelete(): StepResult {
  return {
    status: reportUninstalled('NeverInstalled', 'Nothing was installed, so nothing has to be removed'),
    outcome: done(TEARDOWN_REQUESTED),
  };
}

/** Nothing is installed with access that is wanted no more. */
export function waitForStray(object: ServiceObject, stray: string): StepResult {
  const [kind] = stray.split(' ');
  return {
    status: reportNotReady(object, `WaitingFor${kind}Deletion`, `${stray} is not needed any more and is being removed`),
    outcome: waiting(`the deletion of ${stray}`),
  };
}

/** Requests that are going without our mark: another runtime had come as far as that when it was stopped. */
export function handedOver(): StepResult {
  return {
    status: reportUninstalled('HandedOver', 'The removal of access had begun already'),
    outcome: done(TEARDOWN_REQUESTED),
  };
}

/** What follows from the access that there is. */
export function decideAfterAccess(object: ServiceObject, access: AccessVerdicts): StepResult {
  if (grantedAccess(access)) return { outcome: done(isDeleting(object) ? DELETE_REQUESTED : INSTALL_REQUESTED) };
  const open = worst(access);
  if (open === undefined) throw new Error('access that is not granted has a verdict that says why');
  if (open.state === 'terminating') return { outcome: waiting(open.message) };
  return {
    status: reportNotReady(object, open.reason, open.message),
    outcome:
      open.state === 'waiting' && open.retryAfterMs !== undefined
        ? again(open.retryAfterMs, open.reason)
        : waiting(open.message),
  };
}
