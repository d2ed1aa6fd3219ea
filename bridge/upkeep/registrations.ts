import type { Logger } from 'pino';
import type { KubeClient } from '../../shared/kube/ports.ts';
import type { KubeObject } from '../../shared/model/kubernetes.ts';
import type { Mode } from '../../shared/model/object-key.ts';
import { registrationsInForceAnnotation } from '../../shared/names.ts';
import type { Provider } from '../../shared/provider/provider.ts';
import { registrationsFingerprint } from '../../shared/provider/registrations-fingerprint.ts';
import type { Part } from '../part.ts';
import { IN_FORCE_RETRY_MS } from '../tuning.ts';
import { repeat } from './repeat.ts';

export interface RegistrationsInForceOptions {
  provider: Provider;
  mode: Mode;
  platform: KubeClient;
  log: Logger;
}

/**
 * While this replica leads a mode, the registrations of its provider are in force: it says so on the ProviderConfig, where
 * functions of another version read that what they do not know is not withdrawn. Said once in each lead, and again when it
 * is missing: two that think they lead don't write against each other.
 */
export class RegistrationsInForce implements Part {
  readonly #options: RegistrationsInForceOptions;
  readonly #annotation: string;
  readonly #fingerprint: string;
  #config: KubeObject | undefined;
  #leads = false;
  #said = false;
  #saying: AbortController | undefined;

  constructor(options: RegistrationsInForceOptions) {
    this.#options = options;
    this.#annotation = registrationsInForceAnnotation(options.mode);
    this.#fingerprint = registrationsFingerprint(options.provider, options.mode);
  }

  start(): void {
    this.#leads = true;
    this.#said = false;
    this.#consider();
  }

  stop(): void {
    this.#leads = false;
    this.#saying?.abort();
  }

  configChanged(config: KubeObject | undefined): void {
    this.#config = config;
    this.#consider();
  }

  #consider(): void {
    this.#saying?.abort();
    const found = this.#config?.metadata.annotations?.[this.#annotation];
    if (!this.#leads || !this.#config || found === this.#fingerprint) return;
    if (this.#said && found !== undefined) return;
    const saying = (this.#saying = new AbortController());
    const say = async (): Promise<void> => {
      const { provider, platform, log } = this.#options;
      const patch = { metadata: { annotations: { [this.#annotation]: this.#fingerprint } } };
      if (provider.config) await platform.mergePatch(provider.config.type, provider.name, patch);
      this.#said = true;
      log.info({ from: found, to: this.#fingerprint }, 'registrations are in force');
      saying.abort();
    };
    const { log } = this.#options;
    void repeat('say which registrations are in force', IN_FORCE_RETRY_MS, say, { signal: saying.signal, log });
  }
}
