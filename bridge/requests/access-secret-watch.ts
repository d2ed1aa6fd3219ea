import type { Logger } from 'pino';
import type { KubeClient } from '../../shared/kube/ports.ts';
import { SECRETS } from '../../shared/kube/resources.ts';
import type { KubeObject } from '../../shared/model/kubernetes.ts';
import type { ObjectKey } from '../../shared/model/object-key.ts';
import type { KnownObjects } from '../objects/followed.ts';
import type { Sender } from '../send/sender.ts';
import type { WatchTuning } from '../tuning.ts';
import { KindWatch, subjectOf } from '../watch/kind-watch.ts';
import type { Change } from '../watch/seen.ts';
import type { SecretIndex } from './secret-index.ts';
import { ownerOf } from './seen-requests.ts';
import { secretRelevance, type SeenSecret, seenSecret } from './seen-secrets.ts';

export interface AccessSecretWatchOptions {
  provider: string;
  platform: KubeClient;
  /** Which object's access a Secret holds. */
  index: SecretIndex;
  known: KnownObjects;
  sender: Sender;
  tuning: WatchTuning;
  log: Logger;
}

/**
 * Follows the Secrets that AccessRequests point to and those that the runtime made itself, above all the kubeconfigs of
 * workspaces: an object whose token was replaced is looked at, so that what its provider embedded in an installation
 * follows, and so is one whose kubeconfig somebody has deleted or edited. Metadata only: contents of other people's Secrets
 * are nobody's business. It makes that faster and nothing else depends on it, so it says nothing about readiness.
 */
export function accessSecretWatch(options: AccessSecretWatchOptions): KindWatch<KubeObject, SeenSecret> {
  const { provider, platform: client, index, known, sender } = options;
  const objectOf = (secret: SeenSecret): ObjectKey | undefined => {
    if (secret.owner === undefined) return index.find(secret.group, secret.id);
    const key = ownerOf(secret);
    // An object that is gone takes its Secrets along.
    return key && known.knows(key) ? key : undefined;
  };
  const changed = (change: Change<SeenSecret>): void => {
    const decision = secretRelevance(change);
    if (!decision.act) return;
    const key = objectOf(change.kind === 'changed' ? change.before : subjectOf(change));
    if (key) sender.remember({ key, ...decision });
  };
  return new KindWatch<KubeObject, SeenSecret>({
    ...options,
    client,
    type: SECRETS,
    selection: { metadataOnly: true },
    digest: (secret) => seenSecret(provider, secret),
    changed: (changes) => changes.forEach(changed),
  });
}
