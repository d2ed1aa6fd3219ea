import { isAlreadyExists, isDenied } from '../../shared/kube/api-error.ts';
import type { HttpKubeClient } from '../../shared/kube/client.ts';
import { LOGICAL_CLUSTERS, WORKSPACES } from '../../shared/kube/resources.ts';
import { kcpBaseUrl, workspaceUrl } from '../../shared/kube/workspace-url.ts';
import type { Workspace } from './openmcp.ts';
import { eventually } from './wait.ts';

const TIMEOUT_MS = 60_000;

export interface TenantWorkspace {
  /** `root:landscape:tenants:name` */
  readonly path: string;
  /** Name of the logical cluster, as in an object's annotation `kcp.io/cluster`. */
  readonly logicalCluster: string;
  /** Administrator there. */
  readonly client: HttpKubeClient;
}

/** Creates a workspace below another and waits until it can be used. */
export async function createWorkspace(admin: HttpKubeClient, parent: string, name: string): Promise<TenantWorkspace> {
  const parentClient = admin.at(workspaceUrl(admin.server, parent));
  const workspace = { metadata: { name }, spec: { type: { name: 'universal', path: 'root' } } };
  await parentClient.create<Workspace>(WORKSPACES, workspace).catch((error: unknown) => {
    if (!isAlreadyExists(error)) throw error;
  });
  const path = `${parent}:${name}`;
  const logicalCluster = await eventually(
    `workspace ${path} is ready`,
    async (seen) => {
      const current = await parentClient.get<Workspace>(WORKSPACES, name);
      seen(current?.status);
      return current?.status?.phase === 'Ready' && current.spec?.cluster;
    },
    { timeout: TIMEOUT_MS },
  );
  const client = admin.at(workspaceUrl(admin.server, path));
  // By its path it answers a moment later than by its logical cluster's name.
  await eventually(`workspace ${path} answers`, () => client.get(LOGICAL_CLUSTERS, 'cluster'), { timeout: TIMEOUT_MS });
  return { path, logicalCluster: logicalCluster || '', client };
}

/** Deletes a workspace; with `wait` resolves when what was in it is gone. */
export async function deleteWorkspace(workspace: TenantWorkspace, options: { wait?: boolean } = {}): Promise<void> {
  const { path, client, logicalCluster } = workspace;
  const split = path.lastIndexOf(':');
  const base = kcpBaseUrl(client.server);
  await client.at(workspaceUrl(base, path.slice(0, split))).delete(WORKSPACES, path.slice(split + 1));
  if (!options.wait) return;
  await eventually(`workspace ${path} is gone`, () => isGone(client.at(workspaceUrl(base, logicalCluster))), {
    timeout: TIMEOUT_MS,
  });
}

async function isGone(client: HttpKubeClient): Promise<boolean> {
  try {
    return (await client.get(LOGICAL_CLUSTERS, 'cluster')) === undefined;
  } catch (error) {
    // Administrators may enter whatever exists.
    if (isDenied(error)) return true;
    throw error;
  }
}
