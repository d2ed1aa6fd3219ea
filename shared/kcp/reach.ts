import { messageOf } from '../errors.ts';
import { ApiError } from '../kube/api-error.ts';
import type { HttpKubeClient } from '../kube/client.ts';
import type { KubeClient } from '../kube/ports.ts';
import { API_EXPORT_ENDPOINT_SLICES } from '../kube/resources.ts';
import { workspaceUrl } from '../kube/workspace-url.ts';
import { equal } from '../model/json.ts';
import { listBindings } from './bindings.ts';
import { type KcpConnection, openKcpConnection } from './connection.ts';
import { type EndpointSlice, endpointUrls, isSliceOf } from './endpoint-slice.ts';
import type { KcpSettings } from './settings.ts';

/** One address of kcp that is needed, and the cheapest that this identity may ask there. */
export interface KcpAddress {
  readonly name: string;
  ask(): Promise<unknown>;
}

/** The addresses of kcp that serving tenants needs: the provider workspace, and one a shard. */
export class KcpReach {
  readonly #exportName: string;
  #known: { readonly settings: KcpSettings; readonly connection: KcpConnection } | undefined;
  #endpoints: readonly string[] = [];

  constructor(exportName: string) {
    this.#exportName = exportName;
  }

  /**
   * Reads the Secret again; while the platform cluster gives no answer, what it said last counts.
   * @param own what is to be made of each client before it is used
   * @returns addresses, or why there are none
   */
  async addresses(
    platform: KubeClient,
    settings: KcpSettings,
    own: (client: HttpKubeClient) => HttpKubeClient,
  ): Promise<readonly KcpAddress[] | string> {
    let connection: KcpConnection;
    try {
      connection = await this.#connect(platform, settings);
    } catch (error) {
      return messageOf(error);
    }
    const of = { exportName: this.#exportName, workspacePath: settings.providerWorkspace };
    const slices = async (): Promise<void> => {
      const { items } = await own(connection.workspace).list<EndpointSlice>(API_EXPORT_ENDPOINT_SLICES);
      this.#endpoints = endpointUrls(items.filter((slice) => isSliceOf(slice, of)));
    };
    return [
      { name: settings.providerWorkspace, ask: slices },
      ...this.#endpoints.map((url) => ({
        name: url,
        ask: () => listBindings(own(connection.at(workspaceUrl(url, '*'))), { metadataOnly: true, atMost: 1 }),
      })),
    ];
  }

  async #connect(platform: KubeClient, settings: KcpSettings): Promise<KcpConnection> {
    const before = this.#known && equal(this.#known.settings, settings) ? this.#known.connection : undefined;
    try {
      const now = await openKcpConnection(platform, settings);
      // Its connections go on being used.
      if (before && equal(before.credentials, now.credentials)) return before;
      this.#endpoints = [];
      this.#known = { settings, connection: now };
      return now;
    } catch (error) {
      if (before && error instanceof ApiError) return before;
      throw error;
    }
  }
}
