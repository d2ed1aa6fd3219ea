import type { Logger } from 'pino';
import type { Provider } from '../../shared/provider/define.ts';
import type { KubeClient } from '../../shared/kube/ports.ts';
import { ONBOARDING_CLUSTER, type ObjectKey } from '../../shared/model/object-key.ts';
import { watchProblem } from '../watch/decide-watch.ts';
import { ControlPlaneIndex } from './fan-out.ts';
import { ObjectWatch } from './object-watch.ts';
import type { Sender } from '../send/sender.ts';
import type { WatchTuning } from '../tuning.ts';
import type { KnownObject, ModeRunner } from './mode.ts';

/** Standard mode: the objects of the onboarding cluster, which is one address. */
export class StandardMode implements ModeRunner {
  readonly mode = 'standard';
  readonly #provider: Provider;
  readonly #watch: ObjectWatch;
  readonly #index = new ControlPlaneIndex();
  #running = false;

  constructor(options: {
    provider: Provider;
    onboarding: KubeClient;
    sender: Sender;
    tuning: WatchTuning;
    log: Logger;
    onVanished?: () => void;
  }) {
    const { provider, onboarding, sender, tuning, log, onVanished } = options;
    this.#provider = provider;
    this.#watch = new ObjectWatch({
      provider: provider.name,
      mode: this.mode,
      finalizer: provider.finalizer,
      client: onboarding,
      type: provider.api.type,
      sender,
      tuning,
      log,
      onChange: (change) => this.#index.apply(change),
      ...(onVanished ? { onVanished } : {}),
    });
  }

  get running(): boolean {
    return this.#running;
  }

  start(): void {
    this.#running = true;
    this.#watch.start();
  }

  stop(): void {
    this.#running = false;
    this.#watch.stop();
  }

  *objects(): Generator<KnownObject> {
    for (const seen of this.#watch.seen.all()) yield { key: this.#watch.keyOf(seen), generation: seen.generation };
  }

  knows(key: ObjectKey): boolean {
    return this.#watch.seen.find(ONBOARDING_CLUSTER, `${key.namespace}/${key.name}`)?.uid === key.uid;
  }

  /** The object whose control plane this ClusterRequest asks for. */
  ofControlPlane(request: { namespace: string; name: string }): ObjectKey | undefined {
    return this.#index.find(this.#provider.name, request, this.#watch.seen);
  }

  status(): string[] {
    const problem = watchProblem(`standard: ${this.#provider.api.type.plural}`, this.#watch.state);
    return problem === undefined ? [] : [problem];
  }
}
