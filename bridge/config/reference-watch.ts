import type { Logger } from 'pino';
import { messageOf } from '../../shared/errors.ts';
import type { KubeClient } from '../../shared/kube/ports.ts';
import type { ResourceType } from '../../shared/model/kubernetes.ts';
import type { WatchState } from '../watch/decide-watch.ts';
import type { Heard } from '../objects/relevance.ts';
import { type Change, Seen } from '../watch/seen.ts';
import { type Contents, referenceRelevance, type SeenReference, seenReference } from './seen-references.ts';
import type { WatchTuning } from '../tuning.ts';
import { WatchLoop } from '../watch/loop.ts';

export interface ReferenceWatchOptions {
  platform: KubeClient;
  /** Secrets or ConfigMaps. */
  type: ResourceType;
  /** The provider's own. */
  namespace: string;
  /** Names that the provider refers to at present; undefined while that isn't known yet. */
  referenced: () => readonly string[] | undefined;
  /** All objects have to be looked at again. */
  fanOut: () => void;
  tuning: WatchTuning;
  log: Logger;
}

/** Follows the Secrets or ConfigMaps that a provider refers to. */
export class ReferenceWatch {
  readonly #options: ReferenceWatchOptions;
  readonly #seen = new Seen<SeenReference>();
  readonly #loop: WatchLoop<Contents, SeenReference>;
  #listed = false;

  constructor(options: ReferenceWatchOptions) {
    this.#options = options;
    const { platform, type, namespace, tuning, log } = options;
    this.#loop = new WatchLoop<Contents, SeenReference>(
      { client: platform, type, selection: { namespace }, digest: seenReference },
      {
        replaced: (items) => this.#replaced(items),
        event: (kind, item) => this.#changed([this.#seen.apply(kind, item)], 'watch'),
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

  #replaced(items: readonly SeenReference[]): void {
    const heard: Heard = this.#listed ? 'relist' : 'first-list';
    this.#listed = true;
    this.#changed(this.#seen.replaceAll(items), heard);
  }

  #changed(changes: readonly (Change<SeenReference> | undefined)[], heard: Heard): void {
    const { type, log, fanOut } = this.#options;
    const referenced = this.#referenced();
    let needed = false;
    for (const change of changes) {
      if (!change) continue;
      const { group, id } = change.kind === 'gone' ? change.before : change.now;
      const decision = referenceRelevance(change, heard, referenced);
      needed ||= decision.act;
      if (decision.act) log.info({ reference: `${type.kind} ${group}/${id}` }, decision.reason);
      else log.debug({ reference: `${type.kind} ${group}/${id}`, skipped: decision.because }, 'change skipped');
    }
    if (needed) fanOut();
  }

  /** A provider's function that fails is said, and nothing is taken for referred to. */
  #referenced(): ReadonlySet<string> | undefined {
    const { type, log, referenced } = this.#options;
    try {
      const names = referenced();
      return names && new Set(names);
    } catch (error) {
      log.error({ problem: messageOf(error) }, `referenced${type.kind}s failed`);
      return new Set();
    }
  }
}
