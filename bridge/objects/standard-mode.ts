import type { BridgeStats, Part } from '../part.ts';
import { ObjectWatch, type ObjectWatchOptions } from './object-watch.ts';

/** Standard mode: the objects of the onboarding cluster, which is one address. Each start begins anew. */
export class StandardMode implements Part {
  readonly mode = 'standard';
  readonly #options: ObjectWatchOptions;
  #watch: ObjectWatch | undefined;

  constructor(options: Omit<ObjectWatchOptions, 'mode' | 'name'>) {
    this.#options = { ...options, mode: this.mode, name: `standard: ${options.provider.api.type.plural}` };
  }

  get leads(): boolean {
    return this.#watch !== undefined;
  }

  start(): void {
    if (this.#watch) return;
    this.#watch = new ObjectWatch(this.#options);
    this.#options.followed.modes.add(this.mode);
    this.#watch.start();
  }

  stop(): void {
    this.#watch?.stop();
    this.#watch = undefined;
    this.#options.followed.modes.delete(this.mode);
  }

  problems(): string[] {
    return this.#watch?.problems() ?? [];
  }

  stats(): Partial<BridgeStats> {
    const objects = this.#options.followed.count(this.mode);
    return { ...this.#watch?.stats(), modes: [{ mode: this.mode, leads: this.leads, objects }] };
  }
}
