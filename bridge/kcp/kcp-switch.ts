import type { KcpSettings } from '../../shared/kcp/settings.ts';
import { messageOf } from '../../shared/errors.ts';
import type { KubeObject } from '../../shared/model/kubernetes.ts';
import type { ObjectKey } from '../../shared/model/object-key.ts';
import { kcpStep } from './decide-kcp.ts';
import { KcpMode, type KcpModeOptions } from './kcp-mode.ts';
import type { KnownObject, ModeRunner } from '../objects/mode.ts';

/** Runs kcp mode as the ProviderConfig says: starts it, begins it anew with other settings, stops it. */
export class KcpSwitch implements ModeRunner {
  readonly mode = 'kcp';
  readonly #options: Omit<KcpModeOptions, 'settings' | 'onCredentialsChanged'>;
  #settings: KcpSettings | undefined;
  #current: KcpMode | undefined;
  #stopped = false;

  constructor(options: Omit<KcpModeOptions, 'settings' | 'onCredentialsChanged'>) {
    this.#options = options;
  }

  get running(): boolean {
    return this.#current !== undefined;
  }

  /** Nothing to do before there is a ProviderConfig. */
  start(): void {}

  stop(): void {
    this.#stopped = true;
    this.#end();
  }

  /** Takes in the ProviderConfig as it is now. */
  configChanged(config: KubeObject | undefined): void {
    if (this.#stopped || !this.#options.provider.kcp) return;
    const wanted = this.#wanted(config);
    const step = kcpStep(this.#settings, wanted);
    if (step.do === 'stop') this.#end();
    else if (step.do === 'start') this.#begin(step.settings);
    if (wanted === undefined) this.#options.onConditions([]);
  }

  objects(): Iterable<KnownObject> {
    return this.#current?.objects() ?? [];
  }

  knows(key: ObjectKey): boolean {
    return this.#current?.knows(key) ?? false;
  }

  get boundWorkspaces(): number {
    return this.#current?.boundWorkspaces ?? 0;
  }

  status(): string[] {
    return this.#current?.status() ?? [];
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
    this.#options.log.info({ workspace: settings.providerWorkspace }, 'kcp mode starts');
    this.#settings = settings;
    this.#current = new KcpMode({
      ...this.#options,
      settings,
      onCredentialsChanged: () => {
        this.#options.log.info('the kcp kubeconfig has changed');
        this.#begin(settings);
      },
    });
    this.#current.start();
  }

  #end(): void {
    if (this.#current) this.#options.log.info('kcp mode stops');
    this.#current?.stop();
    this.#current = undefined;
    this.#settings = undefined;
  }
}
