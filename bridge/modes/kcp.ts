import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { KcpSettings } from '../../shared/kcp/settings.ts';
import type { Provider } from '../../functions/provider.ts';
import { messageOf } from '../../shared/errors.ts';
import type { KubeClient } from '../../shared/kube/ports.ts';
import { SECRETS } from '../../shared/kube/resources.ts';
import type { Secret } from '../../shared/model/access.ts';
import type { ObjectKey } from '../../shared/model/object-key.ts';
import { Backoff } from '../backoff.ts';
import { watchProblem } from '../decide-watch.ts';
import { Endpoints } from '../endpoints.ts';
import { followOne } from '../follow-one.ts';
import { ObjectWatch } from '../object-watch.ts';
import type { Sender } from '../publish.ts';
import type { WatchTuning } from '../tuning.ts';
import type { WatchLoop } from '../watch-loop.ts';
import type { KnownObject, ModeRunner } from './mode.ts';

/** The runtime's identity in kcp, at its provider workspace and at any other address. */
export interface KcpAccess {
  readonly workspace: KubeClient;
  at(url: string): KubeClient;
}

/** What kcp mode needs from elsewhere. */
export interface KcpPorts {
  connect(platform: KubeClient, settings: KcpSettings): Promise<KcpAccess>;
  /** Puts schema and export into the provider workspace. Idempotent; throws while that isn't possible. */
  provision(workspace: KubeClient, provider: Provider, log: Logger): Promise<void>;
}

export interface KcpModeOptions {
  provider: Provider;
  settings: KcpSettings;
  platform: KubeClient;
  ports: KcpPorts;
  sender: Sender;
  tuning: WatchTuning;
  log: Logger;
  /** The Secret with the kubeconfig has other contents now: this mode has to be begun anew. */
  onCredentialsChanged: () => void;
}

/**
 * kcp mode with one set of settings, from start to stop: connect, provision, then follow the endpoints of the export and
 * the objects at each.
 */
export class KcpMode implements ModeRunner {
  readonly mode = 'kcp';
  readonly #options: KcpModeOptions;
  readonly #exportName: string;
  readonly #watches = new Map<string, ObjectWatch>();
  readonly #stopped = new AbortController();
  readonly #credentials: WatchLoop<Secret, string>;
  #contents: string | undefined;
  #endpoints: Endpoints | undefined;
  #problem: string | undefined = 'not connected yet';

  constructor(options: KcpModeOptions) {
    const { provider, platform, settings } = options;
    this.#options = options;
    this.#exportName = provider.kcp?.exportName ?? provider.api.type.group;
    this.#credentials = followOne<Secret, string>(
      { client: platform, type: SECRETS, ...settings.kubeconfigSecret, digest: fingerprint },
      (contents) => this.#credentialsAre(contents),
      options,
    );
  }

  get running(): boolean {
    return !this.#stopped.signal.aborted;
  }

  start(): void {
    this.#credentials.start();
    void this.#run();
  }

  stop(): void {
    this.#stopped.abort();
    this.#credentials.stop();
    this.#endpoints?.stop();
    for (const watch of this.#watches.values()) watch.stop();
    this.#watches.clear();
  }

  *objects(): Generator<KnownObject> {
    for (const watch of this.#watches.values())
      for (const seen of watch.seen.all()) yield { key: watch.keyOf(seen), generation: seen.generation };
  }

  knows(key: ObjectKey): boolean {
    const id = `${key.namespace}/${key.name}`;
    for (const watch of this.#watches.values()) if (watch.seen.find(key.cluster, id)?.uid === key.uid) return true;
    return false;
  }

  status(): string[] {
    if (this.#problem !== undefined) return [`kcp: ${this.#problem}`];
    const problems = [this.#endpoints && watchProblem('kcp: endpoints', this.#endpoints.state)];
    for (const [url, watch] of this.#watches) problems.push(watchProblem(`kcp: ${url}`, watch.state));
    return problems.filter((problem) => problem !== undefined);
  }

  /** One that appears after the first look is a change too: whoever waits for it need not wait for the backoff. */
  #credentialsAre(contents: string | undefined): void {
    const firstLook = !this.#credentials.state.synced;
    const changed = contents !== undefined && contents !== this.#contents;
    this.#contents = contents ?? this.#contents;
    if (changed && !firstLook) this.#options.onCredentialsChanged();
  }

  async #run(): Promise<void> {
    const access = await this.#connectAndProvision();
    if (!access || !this.running) return;
    const sink = { appeared: (url: string) => this.#appeared(access, url), left: (url: string) => this.#left(url) };
    this.#endpoints = new Endpoints(access.workspace, this.#exportName, sink, this.#options);
    this.#endpoints.start();
  }

  async #connectAndProvision(): Promise<KcpAccess | undefined> {
    const { platform, settings, provider, ports, tuning, log } = this.#options;
    const backoff = new Backoff(tuning.backoffFirstMs, tuning.backoffLimitMs);
    // Credentials are read after they are watched, so that no change can fall between.
    while (this.running && !this.#credentials.state.synced && !this.#credentials.state.lastError) await sleep(20);
    while (this.running) {
      try {
        const access = await ports.connect(platform, settings);
        await ports.provision(access.workspace, provider, log);
        this.#problem = undefined;
        return access;
      } catch (error) {
        this.#problem = messageOf(error);
        log.warn({ problem: this.#problem }, 'kcp mode could not start yet');
        await sleep(backoff.next(), undefined, { signal: this.#stopped.signal }).catch(() => undefined);
      }
    }
    return undefined;
  }

  #appeared(access: KcpAccess, url: string): void {
    const { provider, sender, tuning, log } = this.#options;
    log.info({ endpoint: url }, 'endpoint appeared');
    const watch = new ObjectWatch({
      provider: provider.name,
      mode: this.mode,
      client: access.at(`${url}/clusters/*`),
      type: provider.api.type,
      sender,
      tuning,
      log,
    });
    this.#watches.set(url, watch);
    watch.start();
  }

  /** Its objects are forgotten, which says nothing about whether they still exist. */
  #left(url: string): void {
    this.#options.log.info({ endpoint: url }, 'endpoint left');
    this.#watches.get(url)?.stop();
    this.#watches.delete(url);
  }
}

/** A fingerprint: the credential itself isn't kept. */
function fingerprint(secret: Secret): string {
  return createHash('sha256')
    .update(JSON.stringify(secret.data ?? {}))
    .digest('base64');
}
