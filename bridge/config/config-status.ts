import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Provider } from '../../shared/provider/provider.ts';
import { messageOf } from '../../shared/errors.ts';
import { isConflict, isNotFound } from '../../shared/kube/api-error.ts';
import type { KubeClient } from '../../shared/kube/ports.ts';
import { equal } from '../../shared/model/json.ts';
import type { ConditionReport } from '../../shared/status.ts';
import type { Part } from '../part.ts';
import { CONTEST_FIRST_MS, CONTEST_LIMIT_MS, CONTEST_OVER_MS } from '../tuning.ts';
import { Backoff } from '../watch/backoff.ts';
import { type ConfigWithStatus, configStatusPatch } from './decide-config-status.ts';

export interface ConfigStatusOptions {
  readonly provider: Pick<Provider, 'name' | 'config'>;
  readonly platform: Pick<KubeClient, 'get' | 'mergePatch'>;
  readonly log: Logger;
  /** Between two times that the same is said again. */
  readonly contest?: Backoff;
}

/**
 * Keeps the conditions of the ProviderConfig as they were last reported. Writes only what differs, and tries again. Where
 * somebody changes them back each time (an older version beside this one, say), it has its say ever more rarely.
 */
export class ConfigStatus implements Part {
  readonly #options: ConfigStatusOptions;
  readonly #backoff = new Backoff(500, 60_000);
  readonly #contest: Backoff;
  readonly #stopped = new AbortController();
  /** Undefined before the first report, and when others report: then what is there stays. */
  #wanted: readonly ConditionReport[] | undefined;
  /** What was written last, and when, by `performance.now()`. */
  #written: { what: readonly ConditionReport[]; at: number } | undefined;
  #due = false;
  #working = false;
  /** Ends the pause between two times that the same is said. */
  #pause = new AbortController();

  constructor(options: ConfigStatusOptions) {
    this.#options = options;
    this.#contest = options.contest ?? new Backoff(CONTEST_FIRST_MS, CONTEST_LIMIT_MS);
  }

  /** What is to be there from now on; empty: none of ours; undefined: another replica has the word. */
  report(conditions: readonly ConditionReport[] | undefined): void {
    this.#wanted = conditions;
    if (!equal(conditions, this.#written?.what)) this.#pause.abort();
    if (conditions) this.refresh();
  }

  /** The ProviderConfig has changed, or is another one. */
  refresh(): void {
    this.#due = true;
    if (!this.#working) void this.#work();
  }

  stop(): void {
    this.#stopped.abort();
    this.#pause.abort();
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
    let patch = await this.#patch();
    // As it is then: much may have happened meanwhile.
    if (patch && (await this.#calm())) patch = await this.#patch();
    const { provider, platform } = this.#options;
    const wanted = this.#wanted;
    if (!patch || !wanted || !provider.config || this.#stopped.signal.aborted) return;
    try {
      await platform.mergePatch(provider.config.type, provider.name, patch, { subresource: 'status' });
      this.#written = { what: wanted, at: performance.now() };
    } catch (error) {
      // An older CRD without that subresource, or it is gone meanwhile: there is nobody to tell.
      if (!isNotFound(error)) throw error;
    }
  }

  /** Waits where what is to be written was written before, and somebody has changed it since. */
  async #calm(): Promise<boolean> {
    const before = this.#written;
    if (!before || !equal(before.what, this.#wanted)) return false;
    if (performance.now() - before.at > CONTEST_OVER_MS) this.#contest.reset();
    this.#pause = new AbortController();
    await sleep(this.#contest.next(), undefined, { signal: this.#pause.signal }).catch(() => undefined);
    return true;
  }

  async #patch(): Promise<object | undefined> {
    const { provider, platform } = this.#options;
    if (!provider.config || !this.#wanted) return undefined;
    const config = await platform.get<ConfigWithStatus>(provider.config.type, provider.name);
    return config && this.#wanted && configStatusPatch(config, this.#wanted, new Date());
  }
}
