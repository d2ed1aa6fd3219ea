import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { KcpSettings } from '../../shared/kcp/settings.ts';
import type { Provider } from '../../shared/provider/define.ts';
import { messageOf } from '../../shared/errors.ts';
import type { KubeClient } from '../../shared/kube/ports.ts';
import { SECRETS } from '../../shared/kube/resources.ts';
import type { Secret } from '../../shared/model/access.ts';
import type { ObjectKey } from '../../shared/model/object-key.ts';
import type { ConditionReport } from '../../shared/status.ts';
import { Backoff } from '../watch/backoff.ts';
import { watchProblem } from '../watch/decide-watch.ts';
import { endpoints, notProvisioned, provisioned } from '../config/decide-config-status.ts';
import { Endpoints } from './endpoints.ts';
import { followOne } from '../watch/follow-one.ts';
import type { ExportApi } from './export-api.ts';
import { Shard } from './shard.ts';
import { isExportGone, retireSchemas } from './upkeep.ts';
import type { Sender } from '../send/sender.ts';
import { repeat } from '../upkeep/repeat.ts';
import type { UpkeepTuning, WatchTuning } from '../tuning.ts';
import type { WatchLoop } from '../watch/loop.ts';
import type { KnownObject, ModeRunner } from '../objects/mode.ts';

/** The runtime's identity in kcp, at its provider workspace and at any other address. */
export interface KcpAccess {
  readonly workspace: KubeClient;
  at(url: string): KubeClient;
}

/** What kcp mode needs from elsewhere. */
export interface KcpPorts {
  connect(platform: KubeClient, settings: KcpSettings): Promise<KcpAccess>;
  /** Puts schema and export into the provider workspace. Idempotent; throws while that isn't possible. */
  provision(workspace: KubeClient, provider: Provider, log: Logger): Promise<ExportApi>;
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
  upkeep: UpkeepTuning;
  /** What the ProviderConfig is to say about this mode from now on. */
  onConditions: (conditions: readonly ConditionReport[]) => void;
  onVanished: () => void;
}

/**
 * kcp mode with one set of settings, from start to stop: connect, provision, then follow the endpoints of the export and
 * the objects at each.
 */
export class KcpMode implements ModeRunner {
  readonly mode = 'kcp';
  readonly #options: KcpModeOptions;
  readonly #exportName: string;
  readonly #shards = new Map<string, Shard>();
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
    for (const shard of this.#shards.values()) shard.stop();
    this.#shards.clear();
  }

  *objects(): Generator<KnownObject> {
    for (const shard of this.#shards.values()) yield* shard.objects();
  }

  knows(key: ObjectKey): boolean {
    return [...this.#shards.values()].some((shard) => shard.knows(key));
  }

  status(): string[] {
    if (this.#problem !== undefined) return [`kcp: ${this.#problem}`];
    const problems = [this.#endpoints && watchProblem('kcp: endpoints', this.#endpoints.state)];
    for (const shard of this.#shards.values()) problems.push(...shard.problems());
    return problems.filter((problem) => problem !== undefined);
  }

  /** One that appears after the first look is a change too: whoever waits for it need not wait for the backoff. */
  #credentialsAre(contents: string | undefined): void {
    const firstLook = !this.#credentials.state.synced;
    const changed = contents !== undefined && contents !== this.#contents;
    this.#contents = contents ?? this.#contents;
    if (changed && !firstLook) this.#options.onCredentialsChanged();
  }

  get boundWorkspaces(): number {
    return [...this.#shards.values()].reduce((sum, shard) => sum + shard.boundWorkspaces, 0);
  }

  async #run(): Promise<void> {
    const connected = await this.#connectAndProvision();
    if (!connected || !this.running) return;
    const { access, api } = connected;
    const sink = {
      appeared: (url: string) => this.#appeared(access, api, url),
      left: (url: string) => this.#left(url),
      moved: (count: number) => this.#options.onConditions([provisioned(), endpoints(count)]),
    };
    this.#endpoints = new Endpoints(access.workspace, this.#exportName, sink, this.#options);
    this.#endpoints.start();
    const { upkeep, log } = this.#options;
    void repeat('upkeep', upkeep.upkeepMs, () => this.#keepUp(access, api), { signal: this.#stopped.signal, log });
  }

  async #connectAndProvision(): Promise<{ access: KcpAccess; api: ExportApi } | undefined> {
    const { platform, settings, provider, ports, tuning, log, onConditions } = this.#options;
    const backoff = new Backoff(tuning.backoffFirstMs, tuning.backoffLimitMs);
    // Credentials are read after they are watched, so that no change can fall between.
    while (this.running && !this.#credentials.state.synced && !this.#credentials.state.lastError) await sleep(20);
    while (this.running) {
      try {
        const access = await ports.connect(platform, settings);
        const api = await ports.provision(access.workspace, provider, log);
        this.#problem = undefined;
        return { access, api };
      } catch (error) {
        if (!this.running) return undefined;
        this.#problem = messageOf(error);
        log.warn({ problem: this.#problem }, 'kcp mode could not start yet');
        onConditions([notProvisioned(error), endpoints(0)]);
        await sleep(backoff.next(), undefined, { signal: this.#stopped.signal }).catch(() => undefined);
      }
    }
    return undefined;
  }

  /** An export that somebody removed is made again, and schemas that nothing uses any more go. */
  async #keepUp({ workspace }: KcpAccess, api: ExportApi): Promise<void> {
    const { provider, upkeep, ports, log } = this.#options;
    if (await isExportGone(workspace, provider, api)) {
      log.warn({ export: this.#exportName }, 'the APIExport or its schema is gone; made again');
      await ports.provision(workspace, provider, log);
    }
    const inUse = this.#schemasInUse();
    if (inUse) await retireSchemas(workspace, provider, api, { inUse, graceMs: upkeep.schemaGraceMs, log });
  }

  /** Undefined while a shard can't be asked, or none is known: then nothing is known to be unused. */
  #schemasInUse(): string[] | undefined {
    const each = [...this.#shards.values()].map((shard) => shard.schemasInUse());
    if (each.length === 0 || each.includes(undefined)) return undefined;
    return each.flatMap((names) => [...(names ?? [])]);
  }

  #appeared(access: KcpAccess, api: ExportApi, url: string): void {
    const { provider, sender, tuning, log, onVanished } = this.#options;
    log.info({ endpoint: url }, 'endpoint appeared');
    const client = access.at(`${url}/clusters/*`);
    const shard = new Shard({ provider, url, client, bindings: api.bindings, sender, tuning, log, onVanished });
    this.#shards.set(url, shard);
    shard.start();
  }

  /** Its objects are forgotten, which says nothing about whether they still exist. */
  #left(url: string): void {
    this.#options.log.info({ endpoint: url }, 'endpoint left');
    this.#shards.get(url)?.stop();
    this.#shards.delete(url);
  }
}

/** A fingerprint: the credential itself isn't kept. */
function fingerprint(secret: Secret): string {
  return createHash('sha256')
    .update(JSON.stringify(secret.data ?? {}))
    .digest('base64');
}
