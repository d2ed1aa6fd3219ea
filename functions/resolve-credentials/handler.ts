import { TEARDOWN_REQUESTED } from '../../shared/events/catalogue.ts';
import { addFinalizerPatch, hasFinalizer } from '../../shared/finalizers.ts';
import { isInvalid, isNotFound } from '../../shared/kube/api-error.ts';
import { ACCESS_REQUESTS } from '../../shared/kube/resources.ts';
import type { AccessRequest } from '../../shared/model/access.ts';
import type { ServiceObject } from '../../shared/model/kubernetes.ts';
import { done } from '../../shared/events/outcome.ts';
import { OPERATION_ANNOTATION, OPERATION_RECONCILE } from '../../shared/names.ts';
import { isDeleting } from '../../shared/status.ts';
import { ensureAccess } from '../access/access.ts';
import { requestIdentities, type RequestIdentity } from '../requests/desired.ts';
import { isOurs, madeByAnother } from '../requests/ownership.ts';
import { rememberRegistrations, removeStrays } from '../requests/strays.ts';
import { grantedAccess, mayHaveStrays } from '../step/verdict.ts';
import { flowPosition, neverStarted } from '../step/flow.ts';
import type { Run, Step, StepResult } from '../step/run.ts';
import { decideAfterAccess, reject, skipDelete, waitForConfig, waitForStray } from './decide.ts';
import { winnerOf } from './winner.ts';

/**
 * The start of every pass: puts our finalizer on the object, sees to the access that it needs, and says which function is
 * next. The only one that orders access.
 */
export const resolveCredentials: Step = async (found, run) => {
  const object = await withoutReconcileAnnotation(found, run);
  switch (flowPosition(object, run.provider.finalizer)) {
    case 'finished':
      return { outcome: done() };
    case 'teardown':
      return { outcome: done(TEARDOWN_REQUESTED) };
    case 'delete':
      if (neverStarted(object) && !(await startedByAnother(run))) return skipDelete();
      if (run.config.state === 'unusable') return waitForConfig(object, run.config);
      return decideAfterAccess(object, await ensureAccess(run, object, { keepTerminating: true }));
    case 'install':
      return resolveInstall(object, run);
  }
};

async function resolveInstall(object: ServiceObject, run: Run): Promise<StepResult> {
  if (run.config.state === 'unusable') return waitForConfig(object, run.config);
  const rejected = await rejectedBySingleton(object, run);
  if (rejected) return rejected;
  const held = await withFinalizer(object, run);
  // Deleted since it was read: its own event is on the way.
  if (!held) return { outcome: done() };
  const access = await ensureAccess(run, held, { keepTerminating: false });
  if (grantedAccess(access) && mayHaveStrays(access)) {
    const stray = await removeStrays(run);
    if (stray) return waitForStray(held, stray);
    await rememberRegistrations(run);
  }
  return decideAfterAccess(held, access);
}

/** Another runtime that was stopped in its first installation leaves no condition behind, but its requests. */
async function startedByAnother({ key, provider, platform }: Run): Promise<boolean> {
  if (key.mode !== 'standard') return false;
  const [first] = requestIdentities(key, provider);
  const request = first && (await platform.get<AccessRequest>(ACCESS_REQUESTS, first.name, first.namespace));
  return request !== undefined && isOurs(first as RequestIdentity, request) && madeByAnother(request);
}

/** In a kcp workspace one object is served. Standard mode needs no rule: the object is named after its ControlPlane. */
async function rejectedBySingleton(object: ServiceObject, run: Run): Promise<StepResult | undefined> {
  if (!run.workspace || hasFinalizer(object, run.provider.finalizer)) return undefined;
  const { items } = await run.home.list(run.provider.api.type, { metadataOnly: true });
  const winner = winnerOf(items, run.provider.finalizer);
  if (!winner || winner.metadata.uid === object.metadata.uid) return undefined;
  return reject({ namespace: winner.metadata.namespace ?? '', name: winner.metadata.name });
}

async function withFinalizer(object: ServiceObject, run: Run): Promise<ServiceObject | undefined> {
  const { finalizer, api } = run.provider;
  if (hasFinalizer(object, finalizer)) return object;
  try {
    return await run.home.mergePatch<ServiceObject>(
      api.type,
      object.metadata.name,
      addFinalizerPatch(object, finalizer),
      { namespace: object.metadata.namespace },
    );
  } catch (error) {
    if (!isInvalid(error) && !isNotFound(error)) throw error;
    // An object that is being deleted takes no new finalizers, and one that is gone takes nothing: no errors. Anything
    // else is one, such as a stored object that its type does not allow any more.
    const now = await run.home.get<ServiceObject>(api.type, object.metadata.name, object.metadata.namespace);
    if (!now || now.metadata.uid !== object.metadata.uid || isDeleting(now)) return undefined;
    throw error;
  }
}

async function withoutReconcileAnnotation(object: ServiceObject, run: Run): Promise<ServiceObject> {
  if (object.metadata.annotations?.[OPERATION_ANNOTATION] !== OPERATION_RECONCILE) return object;
  return run.home.mergePatch<ServiceObject>(
    run.provider.api.type,
    object.metadata.name,
    { metadata: { resourceVersion: object.metadata.resourceVersion, annotations: { [OPERATION_ANNOTATION]: null } } },
    { namespace: object.metadata.namespace },
  );
}
