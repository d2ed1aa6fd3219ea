import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { messageOf } from '../../shared/errors.ts';
import type { KcpSettings } from '../../shared/kcp/settings.ts';
import type { KubeClient } from '../../shared/kube/ports.ts';
import { SECRETS } from '../../shared/kube/resources.ts';
import type { Secret } from '../../shared/model/access.ts';
import { equal } from '../../shared/model/json.ts';
import type { Provider } from '../../shared/provider/provider.ts';
import type { ConditionReport } from '../../shared/status.ts';
import {
  CONDITION_ENDPOINTS_READY,
  contested,
  endpoints,
  notProvisioned,
  provisioned,
  statusProtected,
} from '../config/decide-config-status.ts';
import type { FollowedObjects } from '../objects/followed.ts';
import { type BridgeStats, type Part, sumOfStats } from '../part.ts';
import type { Sender } from '../send/sender.ts';
import type { UpkeepTuning, WatchTuning } from '../tuning.ts';
import { repeat } from '../upkeep/repeat.ts';
import { Backoff } from '../watch/backoff.ts';
import { watchProblem } from '../watch/decide-watch.ts';
import { followOne } from '../watch/follow-one.ts';
import type { WatchLoop } from '../watch/loop.ts';
import { isContested } from './decide-contested.ts';
import { followEndpoints } from './endpoints.ts';
import type { ExportApi } from './export-api.ts';
import { type Shard, shardAt } from './shard.ts';
import type { Provisioned, ProvisionOptions, Refused } from './provision.ts';
import { isMovedOn, retireSchemas } from './upkeep.ts';

/** The runtime's identity in kcp, at its provider workspace and at any other address. */
export interface KcpAccess {
  readonly workspace: KubeClient;
  at(url: string): KubeClient;
}

/** What kcp mode needs from elsewhere. */
export interface KcpPorts {
  connect(platform: KubeClient, settings: KcpSettings): Promise<KcpAccess>;
  /** Puts schema and export into the provider workspace. Idempotent; throws while that isn't possible. */
  provision(workspace: KubeClient, provider: Provider, log: Logger, options: ProvisionOptions): Promise<Provisioned>;
}

export interface KcpSessionOptions {
  provider: Provider;
  settings: KcpSettings;
  platform: KubeClient;
  ports: KcpPorts;
  followed: FollowedObjects;
  sender: Sender;
  tuning: WatchTuning;
  upkeep: UpkeepTuning;
  log: Logger;
  /** The Secret with the kubeconfig has other contents now: all has to be begun anew. */
  onCredentialsChanged: () => void;
  /** What the ProviderConfig is to say about this mode from now on. */
  onConditions: (conditions: readonly ConditionReport[]) => void;
}

/**
 * kcp mode with one set of settings, from start to stop: connect, provision, then follow the endpoints of the export and
 * the objects at each.
 */
export class KcpSession implements Part {
  readonly #options: KcpSessionOptions;
  readonly #exportName: string;
  readonly #shards = new Map<string, Shard>();
  readonly #stopped = new AbortController();
  readonly #credentials: WatchLoop<Secret, string>;
  #contents: string | undefined;
  #endpoints: ReturnType<typeof followEndpoints> | undefined;
  #problem: string | undefined = 'not connected yet';
  /** What the ProviderConfig says, by its type. */
  readonly #conditions = new Map<string, ConditionReport>();
  #refused: Refused | undefined;
  /** How often in a row the export was not as it was left. */
  #mends = 0;

  constructor(options: KcpSessionOptions) {
    const { provider, platform, settings } = options;
    this.#options = options;
    this.#exportName = provider.kcp?.exportName ?? provider.api.type.group;
    this.#credentials = followOne<Secret, string>(
      { client: platform, type: SECRETS, ...settings.kubeconfigSecret, digest: fingerprint },
      (contents) => this.#credentialsAre(contents),
      options,
    );
  }

  start(): void {
    this.#credentials.start();
    void this.#run();
  }

  stop(): void {
    this.#stopped.abort();
    this.#credentials.stop();
    this.#endpoints?.stop();
    for (const url of this.#shards.keys()) this.#close(url);
  }

  problems(): readonly string[] {
    return [...(this.#refused ? [`kcp: ${this.#refused.why.message}`] : []), ...this.#serving()];
  }

  /** Why objects are not followed, or not all. */
  #serving(): readonly string[] {
    if (this.#problem !== undefined) return [`kcp: ${this.#problem}`];
    const problem = this.#endpoints && watchProblem('kcp: endpoints', this.#endpoints.state);
    return [...(problem === undefined ? [] : [problem]), ...this.#watches().flatMap((watch) => watch.problems())];
  }

  /** Objects are followed as well as everything on the way to them. */
  stats(): Partial<BridgeStats> {
    const objects = { watches: [{ watch: 'objects', up: this.#serving().length === 0 }] };
    return sumOfStats([objects, ...this.#watches().map((watch) => watch.stats())]);
  }

  #watches() {
    return [...this.#shards.values()].flatMap(({ objects, bindings }) => [objects, bindings]);
  }

  get #running(): boolean {
    return !this.#stopped.signal.aborted;
  }

  /** One that appears after the first look is a change too: whoever waits for it need not wait for the backoff. */
  #credentialsAre(contents: string | undefined): void {
    const firstLook = !this.#credentials.state.synced;
    const changed = contents !== undefined && contents !== this.#contents;
    this.#contents = contents ?? this.#contents;
    if (changed && !firstLook) this.#options.onCredentialsChanged();
  }

  async #run(): Promise<void> {
    const connected = await this.#connectAndProvision();
    if (!connected || !this.#running) return;
    const { access, api } = connected;
    const sink = {
      appeared: (url: string) => this.#open(access, api, url),
      left: (url: string) => this.#close(url),
      moved: (count: number) => this.#say(endpoints(count)),
    };
    const of = { exportName: this.#exportName, workspacePath: this.#options.settings.providerWorkspace };
    this.#endpoints = followEndpoints(access.workspace, of, sink, this.#options);
    this.#endpoints.start();
    const { upkeep, log } = this.#options;
    void repeat('upkeep', upkeep.upkeepMs, () => this.#keepUp(access, api), { signal: this.#stopped.signal, log });
  }

  async #connectAndProvision(): Promise<{ access: KcpAccess; api: ExportApi } | undefined> {
    const { platform, settings, provider, ports, tuning, log } = this.#options;
    const backoff = new Backoff(tuning.backoffFirstMs, tuning.backoffLimitMs);
    // Credentials are read after they are watched, so that no change can fall between.
    while (this.#running && !this.#credentials.state.synced && !this.#credentials.state.lastError) await sleep(20);
    while (this.#running) {
      try {
        const access = await ports.connect(platform, settings);
        const { api, statusOpen, refused } = await ports.provision(access.workspace, provider, log, settings);
        this.#problem = undefined;
        this.#refuse(refused);
        this.#say(refused ? notProvisioned(refused.why) : provisioned(), statusProtected(statusOpen));
        return { access, api };
      } catch (error) {
        if (!this.#running) return undefined;
        this.#problem = messageOf(error);
        log.warn({ problem: this.#problem }, 'kcp mode could not start yet');
        this.#say(notProvisioned(error), endpoints(0));
        await sleep(backoff.next(), undefined, { signal: this.#stopped.signal }).catch(() => undefined);
      }
    }
    return undefined;
  }

  /** An export that somebody removed or edited is put right, and schemas that nothing uses any more go. */
  async #keepUp({ workspace }: KcpAccess, api: ExportApi): Promise<void> {
    const { provider, settings, upkeep, ports, log } = this.#options;
    if (!(await isMovedOn(workspace, provider, api, this.#refused?.schema))) {
      const leave = isContested(this.#mends);
      const { mended, statusOpen, refused } = await ports.provision(workspace, provider, log, { ...settings, leave });
      this.#mends = mended.length === 0 ? 0 : this.#mends + 1;
      this.#refuse(refused);
      const state = refused ? notProvisioned(refused.why) : provisioned();
      this.#say(leave && mended.length > 0 ? contested(this.#exportName, mended) : state, statusProtected(statusOpen));
    } else this.#refuse(undefined);
    const inUse = this.#schemasInUse();
    if (inUse) await retireSchemas(workspace, provider, api, { inUse, graceMs: upkeep.schemaGraceMs, log });
  }

  /** Tenants are served all the same, on the schema that they have. */
  #refuse(refused: Refused | undefined): void {
    if (refused && refused.why.message !== this.#refused?.why.message)
      this.#options.log.warn({ problem: refused.why.message }, 'the schema is refused; tenants keep theirs');
    this.#refused = refused;
  }

  /** Reports what has changed, once all is known: what is said of before is not to go and come again. */
  #say(...conditions: readonly ConditionReport[]): void {
    const before = [...this.#conditions.values()];
    for (const each of conditions) this.#conditions.set(each.type, each);
    const now = [...this.#conditions.values()];
    if (!this.#conditions.has(CONDITION_ENDPOINTS_READY)) return;
    if (this.#running && !equal(before, now)) this.#options.onConditions(now);
  }

  /** Undefined while a shard can't be asked, or none is known: then nothing is known to be unused. */
  #schemasInUse(): string[] | undefined {
    const each = [...this.#shards.values()].map(({ bindings }) => bindings.schemasInUse());
    if (each.length === 0 || each.includes(undefined)) return undefined;
    return each.flatMap((names) => names ?? []);
  }

  #open(access: KcpAccess, { bindings }: ExportApi, url: string): void {
    this.#options.log.info({ endpoint: url }, 'endpoint appeared');
    const shard = shardAt(url, { ...this.#options, client: access.at(`${url}/clusters/*`), bindings });
    this.#shards.set(url, shard);
    shard.objects.start();
    shard.bindings.start();
  }

  /** Its objects are forgotten, which says nothing about whether they still exist. */
  #close(url: string): void {
    const shard = this.#shards.get(url);
    if (this.#running) this.#options.log.info({ endpoint: url }, 'endpoint left');
    shard?.objects.stop();
    shard?.bindings.stop();
    this.#shards.delete(url);
  }
}

/** A fingerprint: the credential itself isn't kept. */
function fingerprint(secret: Secret): string {
  return createHash('sha256')
    .update(JSON.stringify(secret.data ?? {}))
    .digest('base64');
}
