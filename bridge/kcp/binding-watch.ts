import type { Logger } from 'pino';
import type { ApiBinding } from '../../shared/kcp/bindings.ts';
import type { KubeClient } from '../../shared/kube/ports.ts';
import type { ResourceType } from '../../shared/model/kubernetes.ts';
import type { WatchState } from '../watch/decide-watch.ts';
import { type Change, Seen } from '../watch/seen.ts';
import type { WatchTuning } from '../tuning.ts';
import { WatchLoop } from '../watch/loop.ts';
import { bindingRelevance, type SeenBinding, seenBinding } from './seen-bindings.ts';

export interface BindingWatchOptions {
  /** At `/clusters/*` of one endpoint. */
  client: KubeClient;
  type: ResourceType;
  tuning: WatchTuning;
  log: Logger;
  /** The claims of this workspace are others now. */
  onClaims: (logicalCluster: string) => void;
}

/** Follows the APIBindings of the export at one address: which workspaces are bound, and what they accept. */
export class BindingWatch {
  readonly #options: BindingWatchOptions;
  readonly #seen = new Seen<SeenBinding>();
  readonly #loop: WatchLoop<ApiBinding, SeenBinding>;
  #listed = false;

  constructor(options: BindingWatchOptions) {
    this.#options = options;
    const { client, type, tuning, log } = options;
    this.#loop = new WatchLoop<ApiBinding, SeenBinding>(
      // Whole objects: what counts is in their status.
      { client, type, digest: seenBinding },
      {
        replaced: (items) => this.#replaced(items),
        event: (kind, item) => this.#changed(this.#seen.apply(kind, item)),
      },
      { tuning, log },
    );
  }

  get state(): WatchState {
    return this.#loop.state;
  }

  get size(): number {
    return this.#seen.size;
  }

  /** APIResourceSchemas that bindings are served from. */
  *schemas(): Generator<string> {
    for (const { schemas } of this.#seen.all()) yield* schemas;
  }

  start(): void {
    this.#loop.start();
  }

  stop(): void {
    this.#loop.stop();
  }

  #replaced(items: readonly SeenBinding[]): void {
    const changes = this.#seen.replaceAll(items);
    if (this.#listed) changes.forEach((change) => this.#changed(change));
    else this.#options.log.info({ bound: this.#seen.size }, 'workspaces bound');
    this.#listed = true;
  }

  #changed(change: Change<SeenBinding> | undefined): void {
    if (!change) return;
    const { log, onClaims } = this.#options;
    const { group } = change.kind === 'gone' ? change.before : change.now;
    if (change.kind !== 'changed')
      log.info(
        { workspace: group, bound: this.#seen.size },
        change.kind === 'added' ? 'workspace bound' : 'workspace unbound',
      );
    if (bindingRelevance(change).act) onClaims(group);
  }
}
