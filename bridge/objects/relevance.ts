import { OPERATION_RECONCILE } from '../../shared/names.ts';
import { act, type Decision, type Heard, skip } from '../watch/decision.ts';
import type { Change } from '../watch/seen.ts';
import type { SeenObject } from './seen-objects.ts';

/**
 * Step 4, pure: whether a change of a Service API object needs work, or why not. Status, finalizers and labels don't:
 * they are mostly what the functions wrote themselves.
 * @param left something of an object that is gone may be left
 */
export function relevance(change: Change<SeenObject>, heard: Heard, left: boolean): Decision {
  if (change.kind === 'gone') return left ? act('ObjectGone', 'user') : skip('ObjectGone');
  const { now } = change;
  if (change.kind === 'added') {
    // After a start everything is new to us, and most of it settled: it must not hold up what users do meanwhile.
    if (heard === 'first-list') return act('Resync', 'background');
    return act(now.deleting ? 'Deleting' : 'Added', 'user');
  }
  const { before } = change;
  if (before.uid !== now.uid) return act('Added', 'user');
  if (before.resourceVersion === now.resourceVersion) return skip('Unchanged');
  if (now.deleting && !before.deleting) return act('Deleting', 'user');
  if (now.generation !== before.generation) return act('Changed', 'user');
  // Without it nothing holds the object until what was installed is removed; on its way out nothing else would tell.
  if (before.hasFinalizer && !now.hasFinalizer) return act('FinalizerLost', 'user');
  if (now.operation !== before.operation) return operationChanged(before.operation, now.operation);
  return skip('StatusOrMetadataOnly');
}

function operationChanged(before: string | undefined, now: string | undefined): Decision {
  // The functions remove it once they have done it.
  if (before === OPERATION_RECONCILE && now === undefined) return skip('OperationDone');
  return act('Changed', 'user');
}

/**
 * Whether an object that we held is gone without a deletion that we saw: somebody took the finalizer away, or its storage
 * was lost. People are told; what is left of it is removed by the functions, once they have looked for themselves.
 */
export function vanished(change: Change<SeenObject>): boolean {
  return change.kind === 'gone' && change.before.hasFinalizer && !change.before.deleting;
}

/** Whether an object of that name and uid is not there any more: in kcp mode the others of its workspace may win now. */
export function freesItsWorkspace(change: Change<SeenObject>): boolean {
  return change.kind === 'gone' || wasReplaced(change);
}

/** Whether another object has its name by now. */
export function wasReplaced(change: Change<SeenObject>): change is Extract<Change<SeenObject>, { kind: 'changed' }> {
  return change.kind === 'changed' && change.before.uid !== change.now.uid;
}
