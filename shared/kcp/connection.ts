import { RuntimeError } from '../errors.ts';
import { clientFor } from '../kube/connect.ts';
import type { HttpKubeClient } from '../kube/client.ts';
import {
  type ClusterCredentials,
  kubeconfigFromSecret,
  type KubeconfigPolicy,
  parseKubeconfig,
} from '../kube/kubeconfig.ts';
import type { KubeClient } from '../kube/ports.ts';
import { API_EXPORT_ENDPOINT_SLICES, SECRETS } from '../kube/resources.ts';
import { kcpBaseUrl, workspaceUrl } from '../kube/workspace-url.ts';
import type { Secret } from '../model/access.ts';
import { type EndpointSlice, endpointUrls, isSliceOf } from './endpoint-slice.ts';
import type { KcpSettings } from './settings.ts';

/** The runtime's own access to a kcp, as the platform operator configured it. */
export interface KcpConnection {
  /** Holds a credential: never log it. */
  readonly credentials: ClusterCredentials;
  /** kcp's address without a workspace, `https://host:port`. */
  readonly base: string;
  /** The provider workspace. */
  readonly workspace: HttpKubeClient;
  /** The same identity and connections at another address of this kcp, e.g. a workspace or an endpoint of a slice. */
  at(url: string): HttpKubeClient;
  /**
   * Addresses of the virtual workspace of an APIExport, one a shard. Empty while the APIExport has no endpoint slice, or
   * one without addresses: kcp adds a shard's address once a workspace there has bound the export.
   * @throws ApiError where the slice can't be read
   */
  endpointUrls(exportName: string): Promise<string[]>;
  /** The same, `undefined` where there is no endpoint slice: then nothing can be concluded from there being none. */
  findEndpointUrls(exportName: string): Promise<string[] | undefined>;
}

/**
 * Reads the kubeconfig that the settings name and makes clients from it. Nothing is sent to kcp yet.
 * @param platform reads the Secret
 * @throws RuntimeError `NOT_READY` naming the Secret when it is missing, `INVALID_KUBECONFIG` naming field and remedy
 */
export async function openKcpConnection(
  platform: KubeClient,
  settings: KcpSettings,
  policy: KubeconfigPolicy = {},
): Promise<KcpConnection> {
  const { name, namespace } = settings.kubeconfigSecret;
  const secret = await platform.get<Secret>(SECRETS, name, namespace);
  if (!secret)
    throw new RuntimeError(
      'NOT_READY',
      `Secret ${namespace}/${name} (spec.kcp.kubeconfigSecret) does not exist on the platform cluster; create it with the key kubeconfig`,
    );
  const where = `${namespace}/${name}`;
  return connectKcp(parseKubeconfig(kubeconfigFromSecret(secret, where), `Secret ${where}`, policy), settings);
}

/** {@link openKcpConnection} for credentials that are at hand. */
export function connectKcp(
  credentials: ClusterCredentials,
  settings: Pick<KcpSettings, 'providerWorkspace'>,
): KcpConnection {
  const base = kcpBaseUrl(credentials.server);
  const client = clientFor(credentials);
  const workspace = client.at(workspaceUrl(base, settings.providerWorkspace));
  const findEndpointUrls = async (exportName: string): Promise<string[] | undefined> => {
    const { items } = await workspace.list<EndpointSlice>(API_EXPORT_ENDPOINT_SLICES);
    const workspacePath = settings.providerWorkspace;
    const slices = items.filter((slice) => isSliceOf(slice, { exportName, workspacePath }));
    return slices.length > 0 ? endpointUrls(slices) : undefined;
  };
  return {
    credentials,
    base,
    workspace,
    at: (url) => client.at(url),
    findEndpointUrls,
    endpointUrls: async (exportName) => (await findEndpointUrls(exportName)) ?? [],
  };
}
