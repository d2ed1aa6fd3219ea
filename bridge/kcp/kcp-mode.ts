import { messageOf } from '../../shared/errors.ts';
import type { KcpSettings } from '../../shared/kcp/settings.ts';
import type { KubeObject } from '../../shared/model/kubernetes.ts';
import type { BridgeStats, Part } from '../part.ts';
import { kcpStep } from './decide-kcp.ts';
import { KcpSession, type KcpSessionOptions } from './kcp-session.ts';

export type KcpModeOptions = Omit<KcpSessionOptions, 'settings' | 'onCredentialsChanged'>;

/** kcp mode, while this replica leads it, as the ProviderConfig says: starts, begins anew with other settings, stops. */
export class KcpMode implements Part {
  readonly mode = 'kcp';
  readonly #options: KcpModeOptions;
  /** Undefined before the ProviderConfig was looked for. */
  #config: { readonly now: KubeObject | undefined } | undefined;
  #settings: KcpSettings | undefined;
  #session: KcpSession | undefined;
  #leads = false;

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
    this.#end();
  }

  /** Takes in the ProviderConfig as it is now. */
  configChanged(config: KubeObject | undefined): void {
    this.#config = { now: config };
    if (!this.#leads) return;
    const wanted = this.#wanted(config);
    const step = kcpStep(this.#settings, wanted);
    if (step.do === 'stop') this.#end();
    else if (step.do === 'start') this.#begin(step.settings);
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

  #begin(settings: KcpSettings): void {
    this.#end();
    const { followed, log } = this.#options;
    log.info({ workspace: settings.providerWorkspace }, 'kcp mode starts');
    followed.modes.add(this.mode);
    this.#settings = settings;
    this.#session = new KcpSession({
      ...this.#options,
      settings,
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
  }
}
