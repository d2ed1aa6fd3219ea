import { TEARDOWN_REQUESTED } from '../../shared/events/catalogue.ts';
import { done } from '../../shared/events/outcome.ts';
import { addFinalizerPatch, hasFinalizer } from '../../shared/finalizers.ts';
import { isInvalid, isNotFound } from '../../shared/kube/api-error.ts';
import type { ServiceObject } from '../../shared/model/kubernetes.ts';
import { OPERATION_ANNOTATION, OPERATION_RECONCILE } from '../../shared/names.ts';
import { isDeleting } from '../../shared/status.ts';
import { ensureAccess } from '../access/access.ts';
import { markInstalled, markUninstalled } from '../requests/marks.ts';
import { registersWhatIsInForce } from '../requests/in-force.ts';
import { rememberRegistrations, removeStrays } from '../requests/strays.ts';
import { flowPosition, mayBeInstalled } from '../step/flow.ts';
import { letGo } from '../step/let-go.ts';
import { isFor, isNobodys, type Marks } from '../step/marks.ts';
import type { Run, Step, StepResult } from '../step/run.ts';
import { grantedAccess, mayHaveStrays, someTerminating } from '../step/verdict.ts';
import { claimWorkspace } from '../workspace/tenant-namespace.ts';
import {
  decideAfterAccess,
  handedOver,
  reject,
  skipDelete,
  waitForConfig,
  waitForEarlier,
  waitForStray,
} from './decide.ts';
import { winnerOf } from './winner.ts';

/**
 * The start of every pass: puts our finalizer on the object, sees to the access that it needs, and says which function is
 * next. The only one that orders access, and the one that marks what is about to be installed.
 */
export const resolveCredentials: Step = async (found, run) => {
  const object = run.gone ? found : await withoutReconcileAnnotation(found, run);
  // In standard mode looking at the access shows them.
  const marks = run.workspace || isDeleting(object) ? await run.marks.read() : undefined;
  switch (flowPosition(object, run, marks)) {
    case 'finished':
      return { outcome: done() };
    case 'not-served':
      await letGo(run, object);
      return { outcome: done() };
    case 'teardown':
      return { outcome: done(TEARDOWN_REQUESTED) };
    case 'delete':
      return resolveDelete(object, run, marks);
    case 'install':
      return resolveInstall(object, run, marks);
  }
};

async function resolveDelete(object: ServiceObject, run: Run, marks: Marks | undefined): Promise<StepResult> {
  if (!mayBeInstalled(object, marks)) {
    if (marks && !isNobodys(marks)) await markUninstalled(run.marks, run.key, marks);
    return skipDelete();
  }
  if (run.config.state === 'unusable') return waitForConfig(object, run.config);
  const claim = run.workspace ? await claimWorkspace(run, marks) : undefined;
  if (claim && !('marks' in claim)) return decideAfterAccess(object, { mcp: claim, workload: undefined });
  const access = await ensureAccess(run, object, { namespace: claim?.marks.holder });
  if (!someTerminating(access)) return decideAfterAccess(object, access);
  if (marks) await markUninstalled(run.marks, run.key, marks);
  return handedOver();
}

async function resolveInstall(object: ServiceObject, run: Run, before: Marks | undefined): Promise<StepResult> {
  if (run.config.state === 'unusable') return waitForConfig(object, run.config);
  const rejected = run.workspace && (await rejectedBySingleton(object, run, before));
  if (rejected) return rejected;
  const held = await withFinalizer(object, run);
  // Deleted since it was read: its own event is on the way.
  if (!held) return { outcome: done() };
  const claim = run.workspace ? await claimWorkspace(run, before) : undefined;
  if (claim && !('marks' in claim)) return decideAfterAccess(held, { mcp: claim, workload: undefined });
  const access = await ensureAccess(run, held, { namespace: claim?.marks.holder });
  const granted = grantedAccess(access);
  if (granted && mayHaveStrays(access) && registersWhatIsInForce(run)) {
    const stray = await removeStrays(run, granted.marks?.holder, { all: false });
    if (stray) return waitForStray(held, stray);
    await rememberRegistrations(run);
  }
  if (granted) await markInstalled(run.marks, run.key, held, claim?.marks ?? granted.marks);
  return decideAfterAccess(held, access);
}

/**
 * In a kcp workspace one object is served, the one that holds the claim. Standard mode needs no rule: the object is named
 * after its ControlPlane.
 */
async function rejectedBySingleton(
  object: ServiceObject,
  run: Run,
  marks: Marks | undefined,
): Promise<StepResult | undefined> {
  const { type } = run.provider.api;
  if (marks?.owner) {
    const { owner } = marks;
    if (isFor(marks, run.key))
      return marks.uninstalled === undefined || marks.uninstalled === run.key.uid ? undefined : waitForEarlier(owner);
    return (await run.home.get(type, owner.name, owner.namespace)) ? reject(owner) : waitForEarlier(owner);
  }
  const winner = await winnerOf(run.home.pages(type, { metadataOnly: true }));
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
