import type { Logger } from 'pino';
import type { KubeClient } from '../../shared/kube/ports.ts';
import type { KubeObject, ResourceType } from '../../shared/model/kubernetes.ts';
import { displayKey, type Mode, type ObjectKey } from '../../shared/model/object-key.ts';
import type { WatchState } from '../watch/decide-watch.ts';
import { othersInWorkspace } from './fan-out.ts';
import type { Sender } from '../send/sender.ts';
import { freesItsWorkspace, type Heard, relevance, vanished } from './relevance.ts';
import { type Change, Seen } from '../watch/seen.ts';
import { keyOfSeen, type SeenObject, seenObject } from './seen-objects.ts';
import type { Notice } from '../send/to-events.ts';
import type { WatchTuning } from '../tuning.ts';
import { WatchLoop } from '../watch/loop.ts';

export interface ObjectWatchOptions {
  provider: string;
  mode: Mode;
  /** Ours. */
  finalizer: string;
  /** At the onboarding cluster, or at `/clusters/*` of one endpoint. */
  client: KubeClient;
  type: ResourceType;
  sender: Sender;
  tuning: WatchTuning;
  log: Logger;
  /** Told of each change after it was taken in. */
  onChange?: (change: Change<SeenObject>) => void;
  /** An object that we held is gone, and nobody saw it being deleted. */
  onVanished?: () => void;
}

/** Follows the Service API objects at one address: steps 2 to 6 of one event in a line. */
export class ObjectWatch {
  readonly seen = new Seen<SeenObject>();
  readonly #options: ObjectWatchOptions;
  readonly #loop: WatchLoop<KubeObject, SeenObject>;
  #listed = false;

  constructor(options: ObjectWatchOptions) {
    this.#options = options;
    const { client, type, mode, finalizer, tuning, log } = options;
    this.#loop = new WatchLoop<KubeObject, SeenObject>(
      { client, type, selection: { metadataOnly: true }, digest: (object) => seenObject(mode, object, finalizer) },
      {
        replaced: (items) => this.#replaced(items),
        event: (kind, item) => this.#event(this.seen.apply(kind, item)),
      },
      { tuning, log },
    );
  }

  get state(): WatchState {
    return this.#loop.state;
  }

  start(): void {
    this.#loop.start();
  }

  stop(): void {
    this.#loop.stop();
  }

  keyOf(seen: SeenObject): ObjectKey {
    return keyOfSeen(this.#options.provider, this.#options.mode, seen);
  }

  #replaced(items: readonly SeenObject[]): void {
    const changes = this.seen.replaceAll(items);
    for (const change of changes) this.#options.onChange?.(change);
    const { sender, client } = this.#options;
    // After a start that is everything, and is read only as fast as it is sent.
    if (!this.#listed) sender.sweep(`first list of ${client.server}`, this.#notices(changes, 'first-list'));
    else for (const notice of this.#notices(changes, 'relist')) sender.remember(notice);
    this.#listed = true;
  }

  #event(change: Change<SeenObject> | undefined): void {
    if (!change) return;
    this.#options.onChange?.(change);
    for (const notice of this.#notices([change], 'watch')) this.#options.sender.remember(notice);
  }

  *#notices(changes: Iterable<Change<SeenObject>>, heard: Heard): Generator<Notice> {
    for (const change of changes) {
      const object = change.kind === 'gone' ? change.before : change.now;
      const key = this.keyOf(object);
      const decision = relevance(change, heard);
      if (decision.act) yield { key, generation: object.generation, ...decision };
      else this.#options.log.debug({ object: displayKey(key), skipped: decision.because }, 'change skipped');
      if (vanished(change)) this.#reportVanished(key);
      if (freesItsWorkspace(change)) yield* this.#nextWinners(object);
    }
  }

  #reportVanished(key: ObjectKey): void {
    const { log, onVanished } = this.#options;
    log.warn({ object: displayKey(key), uid: key.uid }, 'gone without a deletion that was seen: look for orphans');
    onVanished?.();
  }

  /** In kcp mode one object of a workspace is served: when it is gone, another may be the next. */
  *#nextWinners(gone: SeenObject): Generator<Notice> {
    if (this.#options.mode !== 'kcp') return;
    for (const other of othersInWorkspace(gone, this.seen))
      yield { key: this.keyOf(other), generation: other.generation, reason: 'WinnerGone', priority: 'user' };
  }
}
