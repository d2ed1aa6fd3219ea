import type { KubeObject } from '../../shared/model/kubernetes.ts';
import type { Mode, ObjectKey } from '../../shared/model/object-key.ts';
import type { KnownObject, ModeRunner } from '../objects/mode.ts';

/** What a mode of its own can besides: kcp mode follows the ProviderConfig. */
export interface LeadableMode extends ModeRunner {
  readonly boundWorkspaces?: number;
  configChanged?(config: KubeObject | undefined): void;
  ofControlPlane?(request: { namespace: string; name: string }): ObjectKey | undefined;
}

/** A mode that runs only while this replica leads it, each time anew. Knows nothing of how the leader is chosen. */
export class LedMode implements ModeRunner {
  readonly mode: Mode;
  readonly #make: () => LeadableMode;
  #current: LeadableMode | undefined;
  /** Undefined before the ProviderConfig was looked for. */
  #config: { readonly now: KubeObject | undefined } | undefined;

  constructor(mode: Mode, make: () => LeadableMode) {
    this.mode = mode;
    this.#make = make;
  }

  get running(): boolean {
    return this.#current?.running ?? false;
  }

  get led(): boolean {
    return this.#current !== undefined;
  }

  start(): void {
    if (this.#current) return;
    this.#current = this.#make();
    this.#current.start();
    if (this.#config) this.#current.configChanged?.(this.#config.now);
  }

  stop(): void {
    this.#current?.stop();
    this.#current = undefined;
  }

  configChanged(config: KubeObject | undefined): void {
    this.#config = { now: config };
    this.#current?.configChanged?.(config);
  }

  ofControlPlane(request: { namespace: string; name: string }): ObjectKey | undefined {
    return this.#current?.ofControlPlane?.(request);
  }

  get boundWorkspaces(): number {
    return this.#current?.boundWorkspaces ?? 0;
  }

  objects(): Iterable<KnownObject> {
    return this.#current?.objects() ?? [];
  }

  knows(key: ObjectKey): boolean {
    return this.#current?.knows(key) ?? false;
  }

  /** A replica that follows is as it should be. */
  status(): string[] {
    return this.#current?.status() ?? [];
  }
}
