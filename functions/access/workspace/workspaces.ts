import { RuntimeError } from '../../../shared/errors.ts';
import { isDenied } from '../../../shared/kube/api-error.ts';
import type { Guard, HttpKubeClient } from '../../../shared/kube/client.ts';
import type { KubeClient } from '../../../shared/kube/ports.ts';
import { API_BINDINGS } from '../../../shared/kube/resources.ts';
import { workspaceUrl } from '../../../shared/kube/workspace-url.ts';
import { type KcpConnection, openKcpConnection } from '../../../shared/kcp/connection.ts';
import type { KcpSettings } from '../../../shared/kcp/settings.ts';
import type { WorkspacePort } from './port.ts';

/** A rotated Secret, or a shard that came or went, is noticed after this. */
const CONNECTION_LIFE_MS = 30_000;

/** An object's workspace is in this annotation; kcp sets it. */
export const LOGICAL_CLUSTER_ANNOTATION = 'kcp.io/cluster';

interface Known {
  settings: string;
  connection: KcpConnection;
  endpoints: string[];
  until: number;
}

/** Opens tenants' workspaces through the runtime's own kcp access. Remembers the connection, not what is behind it. */
export class Workspaces {
  readonly #exportName: string;
  /** Address of kcp for the kubeconfigs that are handed out; default: that of the runtime's own kubeconfig. */
  readonly #externalUrl: string | undefined;
  #known: Known | undefined;
  readonly #endpointOf = new Map<string, string>();

  constructor(exportName: string, externalUrl?: string) {
    this.#exportName = exportName;
    this.#externalUrl = externalUrl;
  }

  /**
   * @throws RuntimeError `NOT_READY` while the APIExport has no endpoint for the workspace
   */
  async open(
    platform: KubeClient,
    settings: KcpSettings,
    logicalCluster: string,
    guard: Guard,
  ): Promise<WorkspacePort> {
    const { connection, endpoints } = await this.#connect(platform, settings);
    const endpoint = await this.#endpoint(connection, endpoints, logicalCluster);
    const { ca, tlsServerName, insecure } = connection.credentials;
    const server = workspaceUrl(this.#externalUrl ?? connection.base, logicalCluster);
    return {
      logicalCluster,
      virtual: connection.at(workspaceUrl(endpoint, logicalCluster)).fenced(guard),
      credentials: (token) => ({ server, ca, tlsServerName, insecure, token }),
      isBound: async () => {
        const bound = await boundWorkspaces(connection.at(workspaceUrl(endpoint, '*')));
        if (!bound.has(logicalCluster)) this.#endpointOf.delete(logicalCluster);
        return bound.has(logicalCluster);
      },
    };
  }

  async #connect(platform: KubeClient, settings: KcpSettings): Promise<Known> {
    const id = JSON.stringify(settings);
    if (this.#known?.settings === id && Date.now() < this.#known.until) return this.#known;
    const connection = await openKcpConnection(platform, settings);
    const endpoints = await connection.endpointUrls(this.#exportName);
    // One that has no address yet is asked again next time.
    const until = endpoints.length > 0 ? Date.now() + CONNECTION_LIFE_MS : 0;
    this.#known = { settings: id, connection, endpoints, until };
    return this.#known;
  }

  async #endpoint(connection: KcpConnection, endpoints: string[], logicalCluster: string): Promise<string> {
    const [only, ...more] = endpoints;
    if (only === undefined)
      throw new RuntimeError('NOT_READY', `APIExport ${this.#exportName} has no endpoint: no workspace binds it`);
    if (more.length === 0) return only;
    const remembered = this.#endpointOf.get(logicalCluster);
    if (remembered !== undefined && endpoints.includes(remembered)) return remembered;
    for (const url of endpoints) {
      const bound = await boundWorkspaces(connection.at(workspaceUrl(url, '*'))).catch((error: unknown) => {
        if (isDenied(error)) return new Set<string>(); // a matter of this shard alone
        throw error;
      });
      for (const each of bound) this.#endpointOf.set(each, url);
    }
    const found = this.#endpointOf.get(logicalCluster);
    if (found === undefined)
      throw new RuntimeError(
        'NOT_READY',
        `no shard serves workspace ${logicalCluster} for APIExport ${this.#exportName}`,
      );
    return found;
  }
}

/** Logical clusters that bind the export, as one shard sees them; readable without any claim. */
async function boundWorkspaces(wildcard: HttpKubeClient): Promise<Set<string>> {
  const { items } = await wildcard.list(API_BINDINGS, { metadataOnly: true });
  return new Set(items.flatMap((each) => each.metadata.annotations?.[LOGICAL_CLUSTER_ANNOTATION] ?? []));
}
