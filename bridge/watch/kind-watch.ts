import type { Logger } from 'pino';
import type { KubeObject } from '../../shared/model/kubernetes.ts';
import type { BridgeStats, Part } from '../part.ts';
import type { WatchTuning } from '../tuning.ts';
import { isUp, watchProblem, type WatchState } from './decide-watch.ts';
import type { Heard } from './decision.ts';
import { WatchLoop } from './loop.ts';
import type { WatchTarget } from './once.ts';
import { type Change, type Identified, Seen } from './seen.ts';

export interface KindWatchOptions<T extends KubeObject, Digest extends Identified> extends WatchTarget<T, Digest> {
  /** In problems, such as `platform: accessrequests`; undefined: nothing depends on it, so it says nothing. */
  readonly name?: string;
  /** In metrics; default: the plural of the type. */
  readonly label?: string;
  /** Told of changes after they were taken in: one from the watch, or all that a list shows. */
  readonly changed: (changes: readonly Change<Digest>[], heard: Heard) => void;
  readonly tuning: WatchTuning;
  readonly log: Logger;
}

/** Follows all objects of one kind at one address and remembers a digest of each: steps 2 and 3 of one event. */
export class KindWatch<T extends KubeObject, Digest extends Identified> implements Part {
  readonly seen = new Seen<Digest>();
  readonly #options: KindWatchOptions<T, Digest>;
  readonly #loop: WatchLoop<T, Digest>;
  #listed = false;

  constructor(options: KindWatchOptions<T, Digest>) {
    this.#options = options;
    const replaced = (items: readonly Digest[]): void => {
      const heard: Heard = this.#listed ? 'relist' : 'first-list';
      this.#listed = true;
      options.changed(this.seen.replaceAll(items), heard);
    };
    const event = (kind: 'ADDED' | 'MODIFIED' | 'DELETED', item: Digest): void => {
      const change = this.seen.apply(kind, item);
      if (change) options.changed([change], 'watch');
    };
    this.#loop = new WatchLoop<T, Digest>(options, { replaced, event }, options);
  }

  get state(): WatchState {
    return this.#loop.state;
  }

  /** Whether there was a list since the start. */
  get listed(): boolean {
    return this.#listed;
  }

  start(): void {
    this.#loop.start();
  }

  stop(): void {
    this.#loop.stop();
  }

  problems(): string[] {
    const { name } = this.#options;
    const problem = name === undefined ? undefined : watchProblem(name, this.state);
    return problem === undefined ? [] : [problem];
  }

  stats(): Partial<BridgeStats> {
    const { name, label, type } = this.#options;
    return name === undefined ? {} : { watches: [{ watch: label ?? type.plural, up: isUp(this.state) }] };
  }
}

/** The digest that a change is about: as it is, or for one that is gone as it was. */
export function subjectOf<Digest>(change: Change<Digest>): Digest {
  return change.kind === 'gone' ? change.before : change.now;
}
