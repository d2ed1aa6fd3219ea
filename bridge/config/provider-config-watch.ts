import type { Logger } from 'pino';
import type { Provider } from '../../shared/provider/provider.ts';
import type { KubeClient } from '../../shared/kube/ports.ts';
import type { KubeObject, ResourceType } from '../../shared/model/kubernetes.ts';
import { configRelevance } from './config-relevance.ts';
import { isUp, watchProblem } from '../watch/decide-watch.ts';
import type { BridgeStats, Part } from '../part.ts';
import { followOne } from '../watch/follow-one.ts';
import type { WatchTuning } from '../tuning.ts';
import type { WatchLoop } from '../watch/loop.ts';

export interface ProviderConfigWatchOptions {
  provider: Provider;
  /** Of the ProviderConfig. */
  type: ResourceType;
  platform: KubeClient;
  tuning: WatchTuning;
  log: Logger;
  /** All objects have to be looked at again. */
  fanOut: () => void;
  /** Told of the ProviderConfig as it is now, after each change of any kind. */
  onConfig: (config: KubeObject | undefined) => void;
}

/** Follows the provider's one ProviderConfig. */
export class ProviderConfigWatch implements Part {
  readonly #options: ProviderConfigWatchOptions;
  readonly #loop: WatchLoop<KubeObject, KubeObject>;
  #current: KubeObject | undefined;

  constructor(options: ProviderConfigWatchOptions) {
    this.#options = options;
    const { provider, type, platform, tuning, log } = options;
    this.#loop = followOne<KubeObject, KubeObject>(
      { client: platform, type, name: provider.name, digest: (config) => config },
      (config) => this.#changed(config),
      { tuning, log },
    );
  }

  /** The provider's own settings as they are; undefined where there are none, or none that are valid. */
  get config(): unknown {
    try {
      return this.#current && this.#options.provider.config?.parse(this.#current).config;
    } catch {
      return undefined;
    }
  }

  get generation(): number | undefined {
    return this.#current?.metadata.generation;
  }

  /** Whether it was looked for: from then on {@link config} counts. */
  get synced(): boolean {
    return this.#loop.state.synced;
  }

  problems(): string[] {
    const problem = watchProblem('ProviderConfig', this.#loop.state);
    return problem === undefined ? [] : [problem];
  }

  stats(): Partial<BridgeStats> {
    return { watches: [{ watch: 'providerconfigs', up: isUp(this.#loop.state) }] };
  }

  start(): void {
    this.#loop.start();
  }

  stop(): void {
    this.#loop.stop();
  }

  #changed(now: KubeObject | undefined): void {
    const { provider, log, fanOut, onConfig } = this.#options;
    const decision = configRelevance(this.#current, now);
    this.#current = now;
    if (decision.act) {
      log.info(
        { config: provider.name, generation: now?.metadata.generation, exists: now !== undefined },
        decision.reason,
      );
      fanOut();
    } else {
      log.debug({ config: provider.name, skipped: decision.because }, 'change skipped');
    }
    onConfig(now);
  }
}
