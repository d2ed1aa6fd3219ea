import type { ObjectKey } from '../../shared/model/object-key.ts';
import type { KnownObjects } from '../objects/followed.ts';
import type { Heard, SkipReason } from '../watch/decision.ts';
import { ownerOf, type SeenRequest } from './seen-requests.ts';

/**
 * Step 4b, pure: the object that a request concerns, or why there is none. An object that isn't known is told all the
 * same, since it may have been missed; not so after a start, when everything that exists is looked at anyway, sooner or
 * later than this list: only what was looked at before it may have missed the answer.
 */
export function objectOfRequest(
  request: SeenRequest,
  heard: Heard,
  known: KnownObjects,
): ObjectKey | { readonly because: SkipReason } {
  const key = ownerOf(request) ?? known.ofControlPlane({ namespace: request.group, name: request.id });
  if (!key) return { because: 'NoSuchObject' };
  if (!known.runs(key.mode)) return { because: 'ModeNotRunning' };
  if (heard === 'first-list' && !known.knows(key)) return { because: 'NoSuchObject' };
  return key;
}
