import { messageOf } from '../../shared/errors.ts';
import { inForcePatch, type KcpSettings, samePlace, settingsInForce } from '../../shared/kcp/settings.ts';
import { equal } from '../../shared/model/json.ts';
import type { KubeObject } from '../../shared/model/kubernetes.ts';
import type { ConditionReport } from '../../shared/status.ts';
import { held } from '../config/decide-config-status.ts';
import type { BridgeStats, Part } from '../part.ts';
import { HELD_CHECK_MS } from '../tuning.ts';
import { repeat } from '../upkeep/repeat.ts';
import { kcpStep } from './decide-kcp.ts';
import { KcpSession, type KcpSessionOptions } from './kcp-session.ts';
import { servedWorkspaces } from './served.ts';

export interface KcpModeOptions extends Omit<KcpSessionOptions, 'settings' | 'onCredentialsChanged' | 'onConditions'> {
  /** What the ProviderConfig is to say about this mode from now on; undefined: whoever leads it says that. */
  onConditions: (conditions: readonly ConditionReport[] | undefined) => void;
}

/** kcp mode, while this replica leads it, as the ProviderConfig says: starts, begins anew with other settings, stops. */
export class KcpMode implements Part {
  readonly mode = 'kcp';
  readonly #options: KcpModeOptions;
  /** Undefined before the ProviderConfig was looked for. */
  #config: { readonly now: KubeObject | undefined } | undefined;
  #settings: KcpSettings | undefined;
  #session: KcpSession | undefined;
  #leads = false;
  /** Ends what waits for the settings in force to be given up. */
  #waiting: AbortController | undefined;
  /** What is said in place of the session's own word while that is waited for. */
  #held: ConditionReport | undefined;
  #said: readonly ConditionReport[] = [];

  constructor(options: KcpModeOptions) {
    this.#options = options;
  }

  get leads(): boolean {
    return this.#leads;
  }

  start(): void {
    this.#leads = true;
    if (this.#config) this.configChanged(this.#config.now);
  }

  stop(): void {
    this.#leads = false;
    this.#waiting?.abort();
    this.#end();
    // Whoever leads now has the word.
    this.#options.onConditions(undefined);
  }

  /** Takes in the ProviderConfig as it is now. */
  configChanged(config: KubeObject | undefined): void {
    this.#config = { now: config };
    if (!this.#leads) return;
    const wanted = this.#wanted(config);
    const inForce = config && settingsInForce(config);
    const step = kcpStep(this.#settings, inForce, wanted);
    this.#waiting?.abort();
    if (step.do === 'hold') {
      if (!this.#settings || !samePlace(this.#settings, step.settings)) this.#begin(step.settings);
      this.#untilFree(step.settings, typeof wanted === 'object' ? wanted : null);
      return;
    }
    this.#hold(undefined);
    if (step.do === 'stop') this.#end();
    else if (step.do === 'start') this.#begin(step.settings);
    if (typeof wanted === 'object' && !inForce) this.#putInForce(wanted);
    if (wanted === undefined) this.#options.onConditions([]);
  }

  problems(): readonly string[] {
    return this.#session?.problems() ?? [];
  }

  stats(): Partial<BridgeStats> {
    const objects = this.#options.followed.count(this.mode);
    return { ...this.#session?.stats(), modes: [{ mode: this.mode, leads: this.#leads, objects }] };
  }

  #wanted(config: KubeObject | undefined): KcpSettings | undefined | 'gone' | 'invalid' {
    if (!config) return 'gone';
    try {
      return this.#options.provider.config?.parse(config).runtime.kcp;
    } catch (error) {
      this.#options.log.warn({ problem: messageOf(error) }, 'the ProviderConfig is invalid; kcp mode stays as it is');
      return 'invalid';
    }
  }

  /** Remembered on the ProviderConfig, where functions read it, and a bridge that starts after a change. */
  #putInForce(settings: KcpSettings): void {
    this.#retry('remember the kcp settings', async () => {
      await this.#write(settings);
      return true;
    });
  }

  /** Looks until no workspace has a tenant namespace any more; then the ProviderConfig has its way. */
  #untilFree(inForce: KcpSettings, wanted: KcpSettings | null): void {
    const { platform, provider, log } = this.#options;
    this.#retry('give up the kcp settings in force', async () => {
      const count = await servedWorkspaces(platform, provider.name);
      this.#hold(count > 0 ? held(inForce, count) : undefined);
      if (count > 0) return false;
      log.info({ from: inForce.providerWorkspace, to: wanted?.providerWorkspace }, 'kcp settings change');
      await this.#write(wanted);
      return true;
    });
  }

  /** Its change comes back to {@link configChanged}. */
  async #write(settings: KcpSettings | null): Promise<void> {
    const { platform, provider } = this.#options;
    if (provider.config) await platform.mergePatch(provider.config.type, provider.name, inForcePatch(settings));
  }

  #retry(name: string, attempt: () => Promise<boolean>): void {
    const waiting = (this.#waiting = new AbortController());
    const task = async (): Promise<void> => {
      if (!waiting.signal.aborted && (await attempt())) waiting.abort();
    };
    void repeat(name, HELD_CHECK_MS, task, { signal: waiting.signal, log: this.#options.log });
  }

  #hold(report: ConditionReport | undefined): void {
    if (equal(report, this.#held)) return;
    this.#held = report;
    this.#say(this.#said);
  }

  #say(conditions: readonly ConditionReport[]): void {
    this.#said = conditions;
    const { onConditions } = this.#options;
    const report = this.#held;
    if (report) onConditions([...conditions.filter(({ type }) => type !== report.type), report]);
    else if (conditions.length > 0) onConditions(conditions);
  }

  #begin(settings: KcpSettings): void {
    this.#end();
    const { followed, log } = this.#options;
    log.info({ workspace: settings.providerWorkspace }, 'kcp mode starts');
    followed.modes.add(this.mode);
    this.#settings = settings;
    this.#session = new KcpSession({
      ...this.#options,
      settings,
      onConditions: (conditions) => this.#say(conditions),
      onCredentialsChanged: () => {
        log.info('the kcp kubeconfig has changed');
        this.#begin(settings);
      },
    });
    this.#session.start();
  }

  #end(): void {
    if (!this.#session) return;
    this.#options.log.info('kcp mode stops');
    this.#options.followed.modes.delete(this.mode);
    this.#session.stop();
    this.#session = undefined;
    this.#settings = undefined;
    this.#said = [];
  }
}
