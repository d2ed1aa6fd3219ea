import type { Logger } from 'pino';
import type { KubeClient } from '../../shared/kube/ports.ts';
import type { KubeObject } from '../../shared/model/kubernetes.ts';
import { displayKey, type Mode, type ObjectKey } from '../../shared/model/object-key.ts';
import type { Provider } from '../../shared/provider/provider.ts';
import type { Sender } from '../send/sender.ts';
import type { Notice } from '../send/to-events.ts';
import type { WatchTuning } from '../tuning.ts';
import type { Heard } from '../watch/decision.ts';
import { KindWatch, subjectOf } from '../watch/kind-watch.ts';
import type { Change } from '../watch/seen.ts';
import { ControlPlaneIndex } from './control-plane-index.ts';
import type { FollowedObjects } from './followed.ts';
import { freesItsWorkspace, relevance, vanished, wasReplaced } from './relevance.ts';
import { keyOfSeen, nextInWorkspace, type SeenObject, seenObject } from './seen-objects.ts';

export interface ObjectWatchOptions {
  provider: Provider;
  mode: Mode;
  /** In problems. */
  name: string;
  /** At the onboarding cluster, or at `/clusters/*` of one endpoint. */
  client: KubeClient;
  followed: FollowedObjects;
  sender: Sender;
  tuning: WatchTuning;
  log: Logger;
}

/** Follows the Service API objects at one address: steps 2 to 6 of one event in a line. */
export class ObjectWatch extends KindWatch<KubeObject, SeenObject> {
  readonly mode: Mode;
  readonly #options: ObjectWatchOptions;
  readonly #controlPlanes = new ControlPlaneIndex();

  constructor(options: ObjectWatchOptions) {
    const { provider, mode } = options;
    super({
      ...options,
      label: 'objects',
      type: provider.api.type,
      selection: { metadataOnly: true },
      digest: (object) => seenObject(mode, object, provider.finalizer),
      changed: (changes, heard) => this.#changed(changes, heard),
    });
    this.mode = mode;
    this.#options = options;
  }

  override start(): void {
    this.#options.followed.add(this);
    super.start();
  }

  override stop(): void {
    super.stop();
    this.#options.followed.remove(this);
  }

  keyOf(seen: SeenObject): ObjectKey {
    return keyOfSeen(this.#options.provider.name, this.mode, seen);
  }

  /** @param logicalCluster all objects of this workspace have to be looked at again, since its claims are others now */
  bindingChanged(logicalCluster: string): void {
    for (const seen of this.seen.inGroup(logicalCluster))
      this.#options.sender.remember({ ...this.#about(seen), reason: 'BindingChanged', priority: 'user' });
  }

  /** The object whose control plane this ClusterRequest asks for; in standard mode alone. */
  ofControlPlane(request: { namespace: string; name: string }): ObjectKey | undefined {
    return this.#controlPlanes.find(this.#options.provider.name, request, this.seen);
  }

  #changed(changes: readonly Change<SeenObject>[], heard: Heard): void {
    const { sender, client } = this.#options;
    if (this.mode === 'standard') for (const change of changes) this.#controlPlanes.apply(change);
    // After a start that is everything, and is read only as fast as it is sent.
    if (heard === 'first-list') sender.sweep(`first list of ${client.server}`, this.#notices(changes, heard));
    else for (const notice of this.#notices(changes, heard)) sender.remember(notice);
  }

  *#notices(changes: Iterable<Change<SeenObject>>, heard: Heard): Generator<Notice> {
    for (const change of changes) {
      const object = subjectOf(change);
      const about = this.#about(object);
      const decision = relevance(change, heard, change.kind === 'gone' && this.#options.followed.mayLeave(about.key));
      if (decision.act) yield { ...about, ...decision };
      else this.#options.log.debug({ object: displayKey(about.key), skipped: decision.because }, 'change skipped');
      if (vanished(change)) this.#reportVanished(about.key);
      if (wasReplaced(change) && this.#options.followed.mayLeave(this.keyOf(change.before)))
        yield { ...this.#about(change.before), reason: 'ObjectGone', priority: 'user' };
      if (freesItsWorkspace(change)) yield* this.#nextWinner(object);
    }
  }

  #reportVanished(key: ObjectKey): void {
    const { log, followed } = this.#options;
    log.warn({ object: displayKey(key), uid: key.uid }, 'gone without a deletion that was seen');
    followed.vanished += 1;
  }

  /** In kcp mode one object of a workspace is served: when it is gone, another may be the next. */
  *#nextWinner(gone: SeenObject): Generator<Notice> {
    if (this.mode !== 'kcp') return;
    const next = nextInWorkspace(gone, this.seen);
    if (next) yield { ...this.#about(next), reason: 'WinnerGone', priority: 'user' };
  }

  #about(seen: SeenObject): Pick<Notice, 'key' | 'generation'> {
    return { key: this.keyOf(seen), generation: seen.generation };
  }
}
