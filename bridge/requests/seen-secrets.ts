import type { KubeObject } from '../../shared/model/kubernetes.ts';
import { parseObjectKey } from '../../shared/model/object-key.ts';
import { CONTENTS_ANNOTATION, OBJECT_ANNOTATION } from '../../shared/names.ts';
import { act, type Decision, skip } from '../watch/decision.ts';
import type { Change, Identified } from '../watch/seen.ts';

/** Pure: all that is kept of a Secret on the platform cluster, of which there may be many more than are ours. */
export interface SeenSecret extends Identified {
  readonly resourceVersion: string;
  /** The formatted key of the object that the runtime made it for. */
  readonly owner?: string;
  /** What the runtime has put into it, where it is the kubeconfig of a workspace: another with each token. */
  readonly contents?: string;
}

export function seenSecret(provider: string, { metadata }: KubeObject): SeenSecret | undefined {
  const { namespace, name, uid, resourceVersion = '', annotations = {} } = metadata;
  if (!namespace || !uid) return undefined;
  const seen = { group: namespace, id: name, uid, resourceVersion };
  const { [OBJECT_ANNOTATION]: owner, [CONTENTS_ANNOTATION]: contents } = annotations;
  if (owner === undefined || parseObjectKey(owner)?.provider !== provider) return seen;
  return contents === undefined ? { ...seen, owner } : { ...seen, owner, contents };
}

/**
 * Step 4 for Secrets, pure: whether somebody else has changed one that objects work with. Of those that we write ourselves
 * each write of ours is to be told from one of others.
 */
export function secretRelevance(change: Change<SeenSecret>): Decision {
  // One that appears was not there when access was granted, or is what the grant was about: that wakes the object itself.
  if (change.kind === 'added') return skip('RequestCreated');
  if (change.kind === 'gone') return act('AccessChanged', change.before.owner === undefined ? 'background' : 'user');
  const { before, now } = change;
  if (before.resourceVersion === now.resourceVersion) return skip('Unchanged');
  if (before.owner === undefined) return act('AccessChanged', 'background');
  const written = before.owner === now.owner && (before.contents === undefined || before.contents !== now.contents);
  return written ? skip('StatusOrMetadataOnly') : act('AccessChanged', 'user');
}
