import { act, type Decision, type Heard, skip } from '../watch/decision.ts';
import type { Change } from '../watch/seen.ts';
import type { SeenRequest } from './seen-requests.ts';

/**
 * Step 4 for ClusterRequests and AccessRequests, pure: whether a change may be what an object waits for. A new spec
 * alone isn't: the functions wrote it.
 */
export function requestRelevance(change: Change<SeenRequest>, heard: Heard): Decision {
  if (change.kind === 'gone') return act('AccessChanged', 'user');
  const { now } = change;
  if (change.kind === 'added') {
    const foreign = now.owner === undefined;
    if (!foreign && !isAnswered(now)) return skip('RequestCreated');
    return act('AccessChanged', heard === 'first-list' ? 'background' : 'user');
  }
  const { before } = change;
  const same =
    before.uid === now.uid &&
    before.phase === now.phase &&
    before.granted === now.granted &&
    before.secret === now.secret &&
    before.deleting === now.deleting &&
    before.finalizers === now.finalizers;
  return same ? skip('RequestUnchanged') : act('AccessChanged', 'user');
}

/** Something happened to it that its object has to react to. */
function isAnswered(request: SeenRequest): boolean {
  return request.granted || request.phase === 'Denied' || request.deleting;
}
