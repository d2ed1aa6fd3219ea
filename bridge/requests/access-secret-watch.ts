import type { Logger } from 'pino';
import type { KubeClient } from '../../shared/kube/ports.ts';
import { SECRETS } from '../../shared/kube/resources.ts';
import type { KubeObject } from '../../shared/model/kubernetes.ts';
import type { SecretIndex } from '../objects/fan-out.ts';
import type { Sender } from '../send/sender.ts';
import { type Change, type Identified, Seen } from '../watch/seen.ts';
import type { WatchTuning } from '../tuning.ts';
import { WatchLoop } from '../watch/loop.ts';

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
export class AccessSecretWatch {
  readonly #options: AccessSecretWatchOptions;
  readonly #seen = new Seen<SeenSecret>();
  readonly #loop: WatchLoop<KubeObject, SeenSecret>;
  #listed = false;

  constructor(options: AccessSecretWatchOptions) {
    this.#options = options;
    const { platform, tuning, log } = options;
    this.#loop = new WatchLoop<KubeObject, SeenSecret>(
      { client: platform, type: SECRETS, selection: { metadataOnly: true }, digest },
      {
        replaced: (items) => this.#replaced(items),
        event: (kind, item) => this.#changed(this.#seen.apply(kind, item)),
      },
      { tuning, log },
    );
  }

  start(): void {
    this.#loop.start();
  }

  stop(): void {
    this.#loop.stop();
  }

  #replaced(items: readonly SeenSecret[]): void {
    const changes = this.#seen.replaceAll(items);
    // At the start every object is looked at anyway.
    if (this.#listed) for (const change of changes) this.#changed(change);
    this.#listed = true;
  }

  #changed(change: Change<SeenSecret> | undefined): void {
    // One that appears was not there when access was granted, or is what the grant was about: that wakes the object itself.
    if (!change || change.kind === 'added') return;
    if (change.kind === 'changed' && change.before.resourceVersion === change.now.resourceVersion) return;
    const { group, id } = change.before;
    const key = this.#options.index.find(group, id);
    if (key) this.#options.sender.remember({ key, reason: 'AccessChanged', priority: 'background' });
  }
}

function digest({ metadata }: KubeObject): SeenSecret | undefined {
  const { namespace, name, uid, resourceVersion = '' } = metadata;
  return namespace && uid ? { group: namespace, id: name, uid, resourceVersion } : undefined;
}
