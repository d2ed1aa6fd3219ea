import type { ObjectKey } from '../../shared/model/object-key.ts';
import type { KnownObjects } from '../objects/followed.ts';
import type { Heard, SkipReason } from '../watch/decision.ts';
import { ownerOf, type SeenRequest } from './seen-requests.ts';

/**
 * Step 4b, pure: the objects that a request concerns, or why there is none. That which it was made for, and the one that has
 * the name by now, which may wait for the request of its forerunner to go. An object that isn't known is told all the
 * same, since it may have been missed; not so after a start, when everything that exists is looked at anyway, sooner or
 * later than this list: only what was looked at before it may have missed the answer.
 */
export function objectsOfRequest(
  request: SeenRequest,
  heard: Heard,
  known: KnownObjects,
): readonly ObjectKey[] | { readonly because: SkipReason } {
  const key = ownerOf(request) ?? known.ofControlPlane({ namespace: request.group, name: request.id });
  if (!key) return { because: 'NoSuchObject' };
  if (!known.runs(key.mode)) return { because: 'ModeNotRunning' };
  if (heard === 'first-list' && !known.knows(key)) return { because: 'NoSuchObject' };
  const now = known.now(key);
  return now && now.uid !== key.uid ? [key, now] : [key];
}
