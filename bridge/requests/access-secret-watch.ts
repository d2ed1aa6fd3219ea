import type { Logger } from 'pino';
import type { KubeClient } from '../../shared/kube/ports.ts';
import { SECRETS } from '../../shared/kube/resources.ts';
import type { KubeObject } from '../../shared/model/kubernetes.ts';
import type { Sender } from '../send/sender.ts';
import type { WatchTuning } from '../tuning.ts';
import { KindWatch } from '../watch/kind-watch.ts';
import type { Change, Identified } from '../watch/seen.ts';
import type { SecretIndex } from './secret-index.ts';

interface SeenSecret extends Identified {
  readonly resourceVersion: string;
}

export interface AccessSecretWatchOptions {
  platform: KubeClient;
  /** Which object's access a Secret holds. */
  index: SecretIndex;
  sender: Sender;
  tuning: WatchTuning;
  log: Logger;
}

/**
 * Follows the Secrets that AccessRequests point to: an object whose token was replaced is looked at, so that what its
 * provider embedded in an installation follows. Metadata only: contents of other people's Secrets are nobody's business.
 * It makes that faster and nothing else depends on it, so it says nothing about readiness.
 */
export function accessSecretWatch(options: AccessSecretWatchOptions): KindWatch<KubeObject, SeenSecret> {
  const { platform: client, index, sender } = options;
  const changed = (change: Change<SeenSecret>): void => {
    // One that appears was not there when access was granted, or is what the grant was about: that wakes the object itself.
    if (change.kind === 'added') return;
    if (change.kind === 'changed' && change.before.resourceVersion === change.now.resourceVersion) return;
    const { group, id } = change.before;
    const key = index.find(group, id);
    if (key) sender.remember({ key, reason: 'AccessChanged', priority: 'background' });
  };
  return new KindWatch<KubeObject, SeenSecret>({
    ...options,
    client,
    type: SECRETS,
    selection: { metadataOnly: true },
    digest,
    changed: (changes) => changes.forEach(changed),
  });
}

function digest({ metadata }: KubeObject): SeenSecret | undefined {
  const { namespace, name, uid, resourceVersion = '' } = metadata;
  return namespace && uid ? { group: namespace, id: name, uid, resourceVersion } : undefined;
}
