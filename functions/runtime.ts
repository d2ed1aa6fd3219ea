import type { Logger } from 'pino';
import { messageOf, RuntimeError } from '../shared/errors.ts';
import { type FunctionName } from '../shared/events/catalogue.ts';
import type { ServiceEvent } from '../shared/events/service-event.ts';
import type { KcpSettings } from '../shared/kcp/settings.ts';
import { retryAfterMs } from '../shared/kube/api-error.ts';
import type { HttpKubeClient } from '../shared/kube/client.ts';
import type { ServiceObject } from '../shared/model/kubernetes.ts';
import { displayKey, type ObjectKey } from '../shared/model/object-key.ts';
import { done, failed, type Outcome } from '../shared/events/outcome.ts';
import { redact } from '../shared/redact.ts';
import { isDeleting } from '../shared/status.ts';
import { tenantNamespace } from './requests/desired.ts';
import { marksPort } from './requests/marks.ts';
import type { WorkspacePort, WorkspaceTuning } from '../shared/kcp/workspace-port.ts';
import { type ExternalKcp, Workspaces } from '../shared/kcp/workspaces.ts';
import { accessTeardown } from './access-teardown/handler.ts';
import { ClientCache } from '../shared/kube/client-cache.ts';
import { type ConfigState, readProviderConfig } from './step/config-state.ts';
import type { Hold } from './step/hold.ts';
import { invoke } from './step/invoke.ts';
import type { Provider } from '../shared/provider/provider.ts';
import { providerDelete } from './provider-delete/handler.ts';
import { providerInstall } from './provider-install/handler.ts';
import { resolveCredentials } from './resolve-credentials/handler.ts';
import type { Run, Step } from './step/run.ts';

export const STEPS: Readonly<Record<FunctionName, Step>> = {
  'resolve-credentials': resolveCredentials,
  'provider-install': providerInstall,
  'provider-delete': providerDelete,
  'access-teardown': accessTeardown,
};

export interface FunctionRuntimeOptions {
  provider: Provider;
  platform: HttpKubeClient;
  /** Undefined where only kcp is served. */
  onboarding: HttpKubeClient | undefined;
  /** The provider's own namespace on the platform cluster. */
  providerNamespace: string;
  runLimitMs: number;
  localAccess: boolean;
  /** Of kcp, for the kubeconfigs that are handed out. */
  kcpExternal?: ExternalKcp | undefined;
  workspaceTuning?: Partial<WorkspaceTuning> | undefined;
  log: Logger;
}

/** Everything that the four functions share in one process; keeps no state about objects. */
export class FunctionRuntime {
  readonly #options: FunctionRuntimeOptions;
  readonly #clients = new ClientCache();
  readonly #workspaces: Workspaces | undefined;
  readonly #holds = new Set<Hold>();
  #kcpSettings: KcpSettings | undefined;

  constructor(options: FunctionRuntimeOptions) {
    this.#options = options;
    const { kcp } = options.provider;
    this.#workspaces =
      kcp &&
      new Workspaces({
        exportName: kcp.exportName,
        external: options.kcpExternal,
        tuning: options.workspaceTuning,
      });
  }

  /** One invocation of a function, ended at the run limit. Never rejects. */
  async invoke(name: FunctionName, event: ServiceEvent, hold: Hold): Promise<Outcome> {
    const log = this.#options.log.child({ object: displayKey(event.key), function: name });
    const limit = setTimeout(() => hold.stop('RunLimit'), this.#options.runLimitMs);
    this.#holds.add(hold);
    let run: Run | undefined;
    hold.renewed(() => {
      if (run && name === 'provider-install') void stopIfDeleted(run, hold);
    });
    try {
      run = await this.#prepare(event.key, hold, log);
      // Out of reach for good, as far as anybody can tell; whatever brings it back is an event of its own.
      if (!run) return done();
      return await invoke(STEPS[name], run);
    } catch (error) {
      const message = redact(messageOf(error));
      log.warn({ err: { message } }, 'the object could not be reached');
      return failed(message, false, retryAfterMs(error));
    } finally {
      clearTimeout(limit);
      this.#holds.delete(hold);
    }
  }

  /** Tells all that runs to end; the objects are handed back. */
  shutdown(): void {
    for (const hold of this.#holds) hold.stop('Shutdown');
  }

  async #prepare(key: ObjectKey, hold: Hold, log: Logger): Promise<Run | undefined> {
    const { provider, providerNamespace } = this.#options;
    const platform = this.#options.platform.fenced(hold.guard, hold.lost);
    const config = await readProviderConfig(platform, provider);
    const workspace = key.mode === 'kcp' ? await this.#workspace(key, config, hold) : undefined;
    if (typeof workspace === 'string') {
      log.info({ because: workspace }, 'the workspace is not served');
      return undefined;
    }
    const home = workspace?.virtual ?? this.#onboarding().fenced(hold.guard, hold.lost);
    const tenants = tenantNamespace(key);
    return {
      key,
      provider,
      platform,
      home,
      workspace,
      marks: marksPort(platform, key, provider),
      config,
      inForce: config.inForce?.[key.mode],
      providerNamespace,
      localAccess: this.#options.localAccess,
      tenantNamespace: tenants,
      clients: this.#clients,
      signal: hold.signal,
      guard: hold.guard,
      lost: hold.lost,
      secrets: new Set(),
      internal: {
        servers: new Map([
          ...(workspace
            ? [workspace.credentials('').server, workspace.ownCredentials('').server].map(
                (server): [string, string] => [server, 'the workspace'],
              )
            : []),
          [home.server, workspace ? 'kcp' : 'the onboarding cluster'],
          [platform.server, 'the platform cluster'],
        ]),
        namespaces: new Set([providerNamespace, tenants, ...namesIn(this.#kcpSettings)]),
        own: new Set([key.namespace]),
      },
      log,
      now: () => platform.now(),
    };
  }

  #onboarding(): HttpKubeClient {
    if (!this.#options.onboarding)
      throw new RuntimeError('NOT_READY', 'there is no access to the onboarding cluster in this process');
    return this.#options.onboarding;
  }

  async #workspace(
    key: ObjectKey,
    config: ConfigState,
    hold: Hold,
  ): Promise<WorkspacePort | 'unbound' | 'kcp is not configured'> {
    // Without a usable ProviderConfig the last settings still lead to the object, which is to be told of it.
    if (config.state === 'ok') this.#kcpSettings = config.runtime.kcp;
    const settings = this.#kcpSettings;
    if (this.#workspaces && settings)
      return this.#workspaces.open(this.#options.platform, settings, key.cluster, hold.guard, hold.lost);
    if (config.state === 'unusable') throw new RuntimeError('NOT_READY', config.message);
    return 'kcp is not configured';
  }
}

/** Where kcp is provisioned, and the Secret that leads there, are the operator's. */
function namesIn(settings: KcpSettings | undefined): string[] {
  return settings ? [settings.providerWorkspace, settings.kubeconfigSecret.namespace] : [];
}

/** Somebody came for the object while it is installed: if it is being deleted, the install is told to end. */
async function stopIfDeleted(run: Run, hold: Hold): Promise<void> {
  const { key, provider } = run;
  try {
    const object = await run.home.get<ServiceObject>(provider.api.type, key.name, key.namespace);
    if (!object || object.metadata.uid !== key.uid || isDeleting(object)) hold.stop('ObjectDeleted');
  } catch {
    // Not readable right now; the next renewal, or the end of the install, looks again.
  }
}
