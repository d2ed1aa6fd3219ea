import { messageOf, PermanentError, RuntimeError } from '../../shared/errors.ts';
import { isConflict, retryAfterMs } from '../../shared/kube/api-error.ts';
import type { ServiceObject } from '../../shared/model/kubernetes.ts';
import { again, done, failed, failedForGood, resultOf, type Outcome } from '../../shared/events/outcome.ts';
import { redact } from '../../shared/redact.ts';
import { REASON_RECONCILE_ERROR, reportNotReady } from '../../shared/status.ts';
import { findObject } from './find-object.ts';
import { neverStarted, REASONS_BEFORE_INSTALL } from './flow.ts';
import { MAX_CONFLICTS } from '../tuning.ts';
import { writeStatus } from './write-status.ts';
import { tenantError } from './decide-tenant-error.ts';
import { type Run, type Step, tenantView } from './run.ts';
import type { StopReason } from './hold.ts';

/**
 * One invocation of a function: reads the object, lets the step work, writes the status, returns the outcome. Never
 * rejects: whatever goes wrong becomes a condition on the object, as far as that can be written, and a `failed`
 * outcome.
 */
export async function invoke(step: Step, begun: Run): Promise<Outcome> {
  let run = begun;
  for (let attempt = 1; ; attempt++) {
    let object: ServiceObject | undefined;
    try {
      const found = await findObject(begun);
      if ('kind' in found) return found;
      ({ object, run } = found);
      const { status, outcome, object: current } = await step(object, run);
      if (status) await writeStatus(run, current ?? object, status);
      return outcome;
    } catch (error) {
      if (isConflict(error) && error.reason === 'Conflict' && attempt < MAX_CONFLICTS) continue;
      return failure(error, object, run);
    }
  }
}

export function isPermanent(error: unknown): boolean {
  return error instanceof PermanentError || (error instanceof RuntimeError && error.permanent);
}

async function failure(error: unknown, object: ServiceObject | undefined, run: Run): Promise<Outcome> {
  const message = redact(messageOf(error), run.secrets);
  switch (run.signal.reason as StopReason | undefined) {
    case 'ObjectDeleted':
      return done(); // who came for the object goes on from here
    case 'Shutdown':
      return again(0, 'Shutdown');
    case 'LeaseLost':
      return failed(message); // a stale holder writes nothing; who holds the object now does
    case 'RunLimit':
    case undefined:
  }
  const shown = tenantError(error, tenantView(run));
  const reference = shown.reference === undefined ? {} : { reference: shown.reference };
  run.log.warn({ err: { message }, ...reference }, 'invocation failed');
  if (object && !run.gone)
    await reportFailure(error, shown.text, object, run).catch((writeError: unknown) => {
      run.log.warn({ err: { message: redact(messageOf(writeError), run.secrets) } }, 'status not written');
    });
  if (!isPermanent(error) || !object || run.gone || run.config.state !== 'ok')
    return failed(message, isPermanent(error), retryAfterMs(error));
  return failedForGood(message, resultOf({ object: object.metadata.generation, config: run.config.generation }));
}

/** The step may have written since it read the object, above all the mark that the installation has begun. */
async function reportFailure(error: unknown, message: string, before: ServiceObject, run: Run): Promise<void> {
  const { key, provider, home } = run;
  const now = await home.get<ServiceObject>(provider.api.type, key.name, key.namespace);
  if (!now || now.metadata.uid !== key.uid) return;
  const object = { ...now, metadata: { ...now.metadata, generation: before.metadata.generation ?? 0 } };
  const otherwise = neverStarted(object) ? REASONS_BEFORE_INSTALL.accessError : REASON_RECONCILE_ERROR;
  const reason = error instanceof PermanentError ? error.reason : otherwise;
  // Its words were chosen above.
  await writeStatus(run, object, { ...reportNotReady(object, reason, message), words: 'author' });
}
