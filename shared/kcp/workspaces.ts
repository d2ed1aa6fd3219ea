import { messageOf, RuntimeError } from '../errors.ts';
import { listBindings } from './bindings.ts';
import { servingBinding } from './decide-binding.ts';
import { type KcpConnection, openKcpConnection } from './connection.ts';
import type { KcpSettings } from './settings.ts';
import type { Guard } from '../kube/transport.ts';
import type { HttpKubeClient } from '../kube/client.ts';
import type { ClusterCredentials } from '../kube/kubeconfig.ts';
import type { KubeClient } from '../kube/ports.ts';
import { workspaceUrl } from '../kube/workspace-url.ts';
import { LOGICAL_CLUSTER_ANNOTATION } from '../names.ts';
import { DEFAULT_WORKSPACE_TUNING, type WorkspacePort, type WorkspaceTuning } from './workspace-port.ts';
import { KCP_CONNECTION_LIFE_MS, WORKSPACE_REQUEST_MS } from '../tuning.ts';

interface Known {
  connection: KcpConnection;
  /** Undefined: there is no endpoint slice. */
  endpoints: readonly string[] | undefined;
}

/** How those who get a kubeconfig reach kcp. */
export interface ExternalKcp {
  /** `https://host[:port]` */
  readonly url: string;
  /** PEM; default: the authority in the runtime's own kubeconfig. */
  readonly ca?: string | undefined;
  /** Default: the host of the address. */
  readonly tlsServerName?: string | undefined;
}

export interface WorkspacesOptions {
  exportName: string;
  /** Of kcp, for the kubeconfigs that are handed out; default: as in the runtime's own kubeconfig. */
  external?: ExternalKcp | undefined;
  tuning?: Partial<WorkspaceTuning> | undefined;
}

/** Opens tenants' workspaces through the runtime's own kcp access. Remembers the connection, not what is behind it. */
export class Workspaces {
  readonly #exportName: string;
  readonly #external: ExternalKcp | undefined;
  readonly #tuning: WorkspaceTuning;
  #known: { settings: string; until: number; value: Promise<Known> } | undefined;
  readonly #endpointOf = new Map<string, string>();

  constructor({ exportName, external, tuning }: WorkspacesOptions) {
    this.#exportName = exportName;
    this.#external = external;
    this.#tuning = { ...DEFAULT_WORKSPACE_TUNING, ...tuning };
  }

  /**
   * @returns `unbound` when every shard of the export was read and none knows the workspace
   * @throws RuntimeError `NOT_READY` when that can't be told, e.g. while a shard does not answer
   */
  async open(
    platform: KubeClient,
    settings: KcpSettings,
    logicalCluster: string,
    guard: Guard,
    signal?: AbortSignal,
  ): Promise<WorkspacePort | 'unbound'> {
    let { connection, endpoints } = await this.#connect(platform, settings);
    let endpoint = await this.#endpoint(connection, endpoints, logicalCluster);
    if (endpoint === undefined) {
      // By what was read a while ago: the workspace's shard may be new.
      this.#known = undefined;
      ({ connection, endpoints } = await this.#connect(platform, settings));
      endpoint = await this.#endpoint(connection, endpoints, logicalCluster);
    }
    if (endpoint === undefined) return 'unbound';
    const { ca, tlsServerName, insecure } = connection.credentials;
    const at = (base: string, tls: TlsOf) => (token: string) => ({
      server: workspaceUrl(base, logicalCluster),
      ...tls,
      insecure,
      token,
    });
    const own = at(connection.base, { ca, tlsServerName });
    const external = this.#external;
    const virtual = connection
      .at(workspaceUrl(endpoint, logicalCluster))
      .within(WORKSPACE_REQUEST_MS)
      .fenced(guard, signal);
    return {
      logicalCluster,
      tuning: this.#tuning,
      virtual,
      credentials: external ? at(external.url, { ca: external.ca ?? ca, tlsServerName: external.tlsServerName }) : own,
      ownCredentials: own,
      binding: async () => {
        const { items } = await listBindings(virtual);
        return servingBinding(items);
      },
      isBound: async () => {
        const bound = await boundWorkspaces(connection.at(workspaceUrl(endpoint, '*')));
        if (bound.has(logicalCluster)) return true;
        this.#endpointOf.delete(logicalCluster);
        this.#known = undefined;
        const now = (await connection.findEndpointUrls(this.#exportName)) ?? [];
        // It may be bound at an address that is new: only the next look, which begins with them all, can tell.
        if (now.some((url) => !endpoints?.includes(url)))
          throw new RuntimeError('NOT_READY', `the addresses of APIExport ${this.#exportName} have changed`);
        return false;
      },
    };
  }

  #connect(platform: KubeClient, settings: KcpSettings): Promise<Known> {
    const id = JSON.stringify(settings);
    if (this.#known?.settings === id && performance.now() < this.#known.until) return this.#known.value;
    const known = {
      settings: id,
      until: performance.now() + KCP_CONNECTION_LIFE_MS,
      value: this.#read(platform, settings),
    };
    this.#known = known;
    // Without an address, or an answer, it is asked again next time.
    known.value.then(
      ({ endpoints }) => void (endpoints?.length || (known.until = 0)),
      () => (known.until = 0),
    );
    return known.value;
  }

  async #read(platform: KubeClient, settings: KcpSettings): Promise<Known> {
    const connection = await openKcpConnection(platform, settings);
    return { connection, endpoints: await connection.findEndpointUrls(this.#exportName) };
  }

  async #endpoint(
    connection: KcpConnection,
    endpoints: readonly string[] | undefined,
    logicalCluster: string,
  ): Promise<string | undefined> {
    if (endpoints === undefined)
      throw new RuntimeError('NOT_READY', `APIExport ${this.#exportName} has no endpoint slice yet`);
    const [only, ...more] = endpoints;
    if (only === undefined || more.length === 0) return only;
    const remembered = this.#endpointOf.get(logicalCluster);
    if (remembered !== undefined && endpoints.includes(remembered)) return remembered;
    const problems = await this.#ask(connection, endpoints, logicalCluster);
    const found = this.#endpointOf.get(logicalCluster);
    if (found !== undefined && endpoints.includes(found)) return found;
    if (problems.length > 0)
      throw new RuntimeError('NOT_READY', `no shard is known to serve ${logicalCluster}; ${problems.join('; ')}`);
    return undefined;
  }

  /** Asks all shards at once, and waits no longer than for the one that knows the workspace: another may be down. */
  async #ask(connection: KcpConnection, endpoints: readonly string[], logicalCluster: string): Promise<string[]> {
    const problems: string[] = [];
    await new Promise<void>((resolve) => {
      let open = endpoints.length;
      for (const url of endpoints)
        void boundWorkspaces(connection.at(workspaceUrl(url, '*')))
          .then(
            (bound) => {
              for (const each of bound) this.#endpointOf.set(each, url);
              if (bound.has(logicalCluster)) resolve();
            },
            (error: unknown) => void problems.push(messageOf(error)),
          )
          .finally(() => {
            open -= 1;
            if (open === 0) resolve();
          });
    });
    return problems;
  }
}

type TlsOf = Pick<ClusterCredentials, 'ca' | 'tlsServerName'>;

/** Logical clusters that bind the export, as one shard sees them. */
async function boundWorkspaces(wildcard: HttpKubeClient): Promise<Set<string>> {
  const { items } = await listBindings(wildcard, { metadataOnly: true });
  return new Set(items.flatMap((each) => each.metadata.annotations?.[LOGICAL_CLUSTER_ANNOTATION] ?? []));
}
