import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Provider } from '../../shared/provider/provider.ts';
import { messageOf } from '../../shared/errors.ts';
import { isConflict, isNotFound } from '../../shared/kube/api-error.ts';
import type { KubeClient } from '../../shared/kube/ports.ts';
import type { ConditionReport } from '../../shared/status.ts';
import type { Part } from '../part.ts';
import { Backoff } from '../watch/backoff.ts';
import { type ConfigWithStatus, configStatusPatch } from './decide-config-status.ts';

/** Keeps the conditions of the ProviderConfig as they were last reported. Writes only what differs, and tries again. */
export class ConfigStatus implements Part {
  readonly #options: { provider: Provider; platform: KubeClient; log: Logger };
  readonly #backoff = new Backoff(500, 60_000);
  readonly #stopped = new AbortController();
  /** Undefined before the first report: then what is there stays. */
  #wanted: readonly ConditionReport[] | undefined;
  #due = false;
  #working = false;

  constructor(options: { provider: Provider; platform: KubeClient; log: Logger }) {
    this.#options = options;
  }

  /** What is to be there from now on; empty: none of ours. */
  report(conditions: readonly ConditionReport[]): void {
    this.#wanted = conditions;
    this.refresh();
  }

  /** The ProviderConfig has changed, or is another one. */
  refresh(): void {
    this.#due = true;
    if (!this.#working) void this.#work();
  }

  stop(): void {
    this.#stopped.abort();
  }

  async #work(): Promise<void> {
    const { signal } = this.#stopped;
    this.#working = true;
    while (this.#due && !signal.aborted) {
      this.#due = false;
      try {
        await this.#write();
        this.#backoff.reset();
      } catch (error) {
        if (!isConflict(error)) this.#options.log.warn({ problem: messageOf(error) }, 'ProviderConfig: status');
        this.#due = true;
        await sleep(this.#backoff.next(), undefined, { signal }).catch(() => undefined);
      }
    }
    this.#working = false;
  }

  async #write(): Promise<void> {
    const { provider, platform } = this.#options;
    if (!provider.config) return;
    const { type } = provider.config;
    const config = await platform.get<ConfigWithStatus>(type, provider.name);
    const patch = config && this.#wanted && configStatusPatch(config, this.#wanted, new Date());
    if (!patch) return;
    try {
      await platform.mergePatch(type, provider.name, patch, { subresource: 'status' });
    } catch (error) {
      // An older CRD without that subresource, or it is gone meanwhile: there is nobody to tell.
      if (!isNotFound(error)) throw error;
    }
  }
}
