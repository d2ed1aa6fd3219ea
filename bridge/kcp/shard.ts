import type { Logger } from 'pino';
import type { Provider } from '../../shared/provider/define.ts';
import type { KubeClient } from '../../shared/kube/ports.ts';
import type { ResourceType } from '../../shared/model/kubernetes.ts';
import type { ObjectKey } from '../../shared/model/object-key.ts';
import { watchProblem } from '../watch/decide-watch.ts';
import type { KnownObject } from '../objects/mode.ts';
import { ObjectWatch } from '../objects/object-watch.ts';
import type { Sender } from '../send/sender.ts';
import type { WatchTuning } from '../tuning.ts';
import { BindingWatch } from './binding-watch.ts';

export interface ShardOptions {
  provider: Provider;
  url: string;
  /** At `/clusters/*` of this address. */
  client: KubeClient;
  /** The version of APIBindings that this kcp serves. */
  bindings: ResourceType;
  sender: Sender;
  tuning: WatchTuning;
  log: Logger;
  onVanished: () => void;
}

/** One address of the export's virtual workspace: the objects there, and the bindings that they come by. */
export class Shard {
  readonly #options: ShardOptions;
  readonly #objects: ObjectWatch;
  readonly #bindings: BindingWatch;

  constructor(options: ShardOptions) {
    this.#options = options;
    const { provider, client, sender, tuning, log, onVanished } = options;
    this.#objects = new ObjectWatch({
      provider: provider.name,
      mode: 'kcp',
      finalizer: provider.finalizer,
      client,
      type: provider.api.type,
      sender,
      tuning,
      log,
      onVanished,
    });
    this.#bindings = new BindingWatch({
      client,
      type: options.bindings,
      tuning,
      log,
      onClaims: (logicalCluster) => this.#lookAgain(logicalCluster),
    });
  }

  start(): void {
    this.#objects.start();
    this.#bindings.start();
  }

  stop(): void {
    this.#objects.stop();
    this.#bindings.stop();
  }

  *objects(): Generator<KnownObject> {
    for (const seen of this.#objects.seen.all()) yield { key: this.#objects.keyOf(seen), generation: seen.generation };
  }

  knows(key: ObjectKey): boolean {
    return this.#objects.seen.find(key.cluster, `${key.namespace}/${key.name}`)?.uid === key.uid;
  }

  get boundWorkspaces(): number {
    return this.#bindings.size;
  }

  /** Schemas that bindings here are served from; undefined while that isn't known for sure. */
  schemasInUse(): Iterable<string> | undefined {
    const { synced, connected } = this.#bindings.state;
    return synced && connected ? this.#bindings.schemas() : undefined;
  }

  problems(): string[] {
    const { url } = this.#options;
    return [
      watchProblem(`kcp: ${url}`, this.#objects.state),
      watchProblem(`kcp: ${url}: APIBindings`, this.#bindings.state),
    ].filter((problem) => problem !== undefined);
  }

  #lookAgain(logicalCluster: string): void {
    for (const seen of this.#objects.seen.inGroup(logicalCluster))
      this.#options.sender.remember({
        key: this.#objects.keyOf(seen),
        generation: seen.generation,
        reason: 'BindingChanged',
        priority: 'user',
      });
  }
}
