import { isUnclear } from '../../shared/kube/api-error.ts';
import type { WorkspacePort } from '../../shared/kcp/workspace-port.ts';
import type { ServiceObject } from '../../shared/model/kubernetes.ts';
import { again, done, type Outcome } from '../../shared/events/outcome.ts';
import { GONE_SINCE_ANNOTATION, OPERATION_ANNOTATION, OPERATION_IGNORE } from '../../shared/names.ts';
import { isOf, type Marks } from './marks.ts';
import type { Run } from './run.ts';
import { vanishedObject } from './snapshot.ts';

export interface Found {
  readonly object: ServiceObject;
  readonly run: Run;
}

/**
 * The object that the event is about. One that is gone though something of it is left comes as it was remembered, marked
 * for deletion: whoever took our finalizer away has changed nothing about what has to be removed.
 * @returns the outcome where there is nothing to do, or not now
 * @throws ApiError where it can't be told whether it exists: that is never taken for its absence
 */
export async function findObject(run: Run): Promise<Found | Outcome> {
  const { key, provider, home, workspace } = run;
  let object: ServiceObject | undefined;
  try {
    object = await home.get<ServiceObject>(provider.api.type, key.name, key.namespace);
  } catch (error) {
    // Only the list of bindings tells that a workspace does not bind us any more.
    if (workspace && isUnclear(error) && !(await workspace.isBound())) return leftUnbound(run, workspace);
    throw error;
  }
  if (object?.metadata.uid === key.uid)
    return object.metadata.annotations?.[OPERATION_ANNOTATION] === OPERATION_IGNORE ? done() : { object, run };
  const marks = await leftBy(run);
  if (!marks) return done();
  // An object of the same name goes on from what this one left, unless its removal has begun.
  if (object && marks.uninstalled === undefined) return done();
  const known = workspace && !marks.goneSince ? await sayGone(run, marks) : marks;
  if (marks.uninstalled === undefined) run.log.warn('gone before anything was removed; what is left of it is removed');
  return { object: vanishedObject(key, provider.finalizer, known ?? marks, run.now()), run: { ...run, gone: true } };
}

/**
 * A list of bindings can be wrong for a moment, and what is removed does not come back: it counts only when it says the same
 * a good while later.
 */
async function leftUnbound(run: Run, workspace: WorkspacePort): Promise<Found | Outcome> {
  run.log.info('the workspace does not bind the APIExport any more');
  const marks = await leftBy(run);
  if (!marks) return done();
  const goneSince = (marks.goneSince ? marks : await sayGone(run, marks))?.goneSince ?? run.now();
  const patience = goneSince.getTime() + workspace.tuning.teardownPatienceMs - run.now().getTime();
  if (patience > 0) return again(patience, 'WorkspaceUnbound');
  return {
    object: vanishedObject(run.key, run.provider.finalizer, marks, run.now()),
    run: { ...run, gone: true, workspace: { ...workspace, gone: true } },
  };
}

/** The marks, if they are those of this very object. */
async function leftBy({ key, marks }: Run): Promise<Marks | undefined> {
  const found = await marks.read();
  // The namespace of a workspace is the last that is removed, and takes its time.
  if (key.mode === 'kcp' && found?.ending && found.uninstalled !== undefined) return undefined;
  return found && isOf(found, key) ? found : undefined;
}

function sayGone({ marks, now }: Run, from: Marks): Promise<Marks | undefined> {
  return marks.write({ [GONE_SINCE_ANNOTATION]: now().toISOString() }, from);
}
