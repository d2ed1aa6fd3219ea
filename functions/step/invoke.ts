import { messageOf, PermanentError, RuntimeError } from '../../shared/errors.ts';
import { isConflict, isForbidden, isNotFound } from '../../shared/kube/api-error.ts';
import type { ServiceObject } from '../../shared/model/kubernetes.ts';
import { again, done, failed, type Outcome } from '../../shared/events/outcome.ts';
import { OPERATION_ANNOTATION, OPERATION_IGNORE } from '../../shared/names.ts';
import { redact } from '../../shared/redact.ts';
import { REASON_RECONCILE_ERROR, reportNotReady, type StatusReport, statusPatch } from '../../shared/status.ts';
import { keepStarted, neverStarted, REASONS_BEFORE_INSTALL } from './flow.ts';
import type { Run, Step, StopReason } from './run.ts';

/** A step that meets other writers reads again this often before it backs off. */
const MAX_CONFLICTS = 5;

/**
 * One invocation of a function: reads the object, lets the step work, writes the status, returns the outcome. Never
 * rejects: whatever goes wrong becomes a condition on the object, as far as that can be written, and a `failed`
 * outcome.
 */
export async function invoke(step: Step, run: Run): Promise<Outcome> {
  for (let attempt = 1; ; attempt++) {
    let object: ServiceObject | undefined;
    try {
      object = await readObject(run);
      if (!object) return done();
      const { status, outcome, object: current } = await step(object, run);
      if (status) await writeStatus(run, current ?? object, status);
      return outcome;
    } catch (error) {
      if (isConflict(error) && error.reason === 'Conflict' && attempt < MAX_CONFLICTS) continue;
      return failure(error, object, run);
    }
  }
}

/** The object if it is still the one that the event is about, and not to be ignored. */
async function readObject(run: Run): Promise<ServiceObject | undefined> {
  const { key, provider, home } = run;
  let object: ServiceObject | undefined;
  try {
    object = await home.get<ServiceObject>(provider.api.type, key.name, key.namespace);
  } catch (error) {
    // In kcp a 403 can mean anything. Only the list of bindings tells that a workspace does not bind us any more.
    const unclear = isForbidden(error) || isNotFound(error);
    if (run.workspace && unclear && !(await run.workspace.isBound())) {
      run.log.info('the workspace does not bind the APIExport any more');
      return undefined;
    }
    throw error;
  }
  if (!object || object.metadata.uid !== key.uid) return undefined;
  return object.metadata.annotations?.[OPERATION_ANNOTATION] === OPERATION_IGNORE ? undefined : object;
}

/**
 * Brings a report onto the object; writes nothing where it is there already. Reads again on conflict.
 * @returns the object as it is now; `undefined` when it is gone, and there is nobody to tell
 */
export async function writeStatus(
  run: Run,
  object: ServiceObject,
  report: StatusReport,
): Promise<ServiceObject | undefined> {
  const { key, provider, home } = run;
  let current = object;
  for (let attempt = 1; ; attempt++) {
    const patch = statusPatch(current, redacted(keepStarted(current, report), run), run.now());
    if (!patch) return current;
    try {
      return await home.mergePatch<ServiceObject>(provider.api.type, key.name, patch, {
        namespace: key.namespace,
        subresource: 'status',
      });
    } catch (error) {
      const again = isNotFound(error) || (isConflict(error) && attempt < MAX_CONFLICTS);
      if (!again) throw error;
      // Only this answer tells whether it is gone: a type or workspace that is not served is a 404 as well.
      const fresh = await home.get<ServiceObject>(provider.api.type, key.name, key.namespace);
      if (!fresh || fresh.metadata.uid !== key.uid) return undefined;
      if (attempt >= MAX_CONFLICTS) throw error;
      // A report about a generation that is not the newest any more must not claim to be about the newest.
      current = { ...fresh, metadata: { ...fresh.metadata, generation: object.metadata.generation ?? 0 } };
    }
  }
}

function redacted(report: StatusReport, run: Run): StatusReport {
  return {
    ...report,
    conditions: report.conditions.map((each) => ({ ...each, message: redact(each.message, run.secrets) })),
  };
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
  run.log.warn({ err: { message } }, 'invocation failed');
  if (object)
    await reportFailure(error, message, object, run).catch((writeError: unknown) => {
      run.log.warn({ err: { message: redact(messageOf(writeError), run.secrets) } }, 'status not written');
    });
  return failed(message, isPermanent(error));
}

/** The step may have written since it read the object, above all the mark that the installation has begun. */
async function reportFailure(error: unknown, message: string, before: ServiceObject, run: Run): Promise<void> {
  const { key, provider, home } = run;
  const now = await home.get<ServiceObject>(provider.api.type, key.name, key.namespace);
  if (!now || now.metadata.uid !== key.uid) return;
  const object = { ...now, metadata: { ...now.metadata, generation: before.metadata.generation ?? 0 } };
  const otherwise = neverStarted(object) ? REASONS_BEFORE_INSTALL.accessError : REASON_RECONCILE_ERROR;
  const reason = error instanceof PermanentError ? error.reason : otherwise;
  await writeStatus(run, object, reportNotReady(object, reason, message));
}
