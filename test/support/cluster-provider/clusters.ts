import { isDenied } from '../../../shared/kube/api-error.ts';
import type { HttpKubeClient } from '../../../shared/kube/client.ts';
import type { KubeClient } from '../../../shared/kube/ports.ts';
import { CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, LOGICAL_CLUSTERS, WORKSPACES } from '../../../shared/kube/resources.ts';
import { workspaceUrl } from '../../../shared/kube/workspace-url.ts';
import type { KubeObject } from '../../../shared/model/kubernetes.ts';
import type { Cluster, Workspace } from '../openmcp.ts';
import { ensureNamespace } from './access.ts';
import { ACCESS_NAMESPACE } from './rights.ts';

/** On a Cluster: the workspace that it stands for. It exists already and is never deleted. */
export const WORKSPACE_ANNOTATION = 'kcp.clusters.openmcp.cloud/workspace';
/** On a Workspace that we made: `namespace/name` of its Cluster. */
export const CLUSTER_ANNOTATION = 'kcp.clusters.openmcp.cloud/cluster';
const CLUSTER_UID_ANNOTATION = 'kcp.clusters.openmcp.cloud/cluster-uid';

const MAX_NAME = 40;

/** Path of the workspace that a Cluster stands for. */
export function workspacePath(parent: string, cluster: Cluster): string {
  return cluster.metadata.annotations?.[WORKSPACE_ANNOTATION] ?? `${parent}:${workspaceName(cluster)}`;
}

/** A new Cluster of an old name is another one, hence the uid. */
function workspaceName({ metadata: { name, uid = '' } }: Cluster): string {
  return `${name.slice(0, MAX_NAME).replaceAll('.', '-')}-${uid.slice(0, 8)}`;
}

export function isMapped(cluster: Cluster): boolean {
  return cluster.metadata.annotations?.[WORKSPACE_ANNOTATION] !== undefined;
}

/** Orders the workspace of a Cluster in `parent`, and says whether it can be used already. */
export async function ensureWorkspace(parent: KubeClient, cluster: Cluster): Promise<boolean> {
  const name = workspaceName(cluster);
  const { namespace, name: clusterName, uid = '' } = cluster.metadata;
  const annotations = { [CLUSTER_ANNOTATION]: `${namespace}/${clusterName}`, [CLUSTER_UID_ANNOTATION]: uid };
  const type = { name: 'universal', path: 'root' };
  const present = await parent.get<Workspace>(WORKSPACES, name);
  if (present && present.metadata.annotations?.[CLUSTER_UID_ANNOTATION] !== uid)
    throw new Error(`workspace ${name} exists already and is not this Cluster's`);
  if (!present) await parent.create<Workspace>(WORKSPACES, { metadata: { name, annotations }, spec: { type } });
  return present?.status?.phase === 'Ready';
}

/** Lets the ServiceAccounts that AccessRequests get enter the workspace; what they may do there is asked by each. */
export async function prepareWorkspace(target: KubeClient): Promise<void> {
  const name = 'accessrequests-enter-workspace';
  await Promise.all([
    ensureNamespace(target, ACCESS_NAMESPACE),
    target.apply(CLUSTER_ROLES, {
      metadata: { name },
      rules: [{ nonResourceURLs: ['/'], verbs: ['access'] }],
    } as KubeObject),
    target.apply(CLUSTER_ROLE_BINDINGS, {
      metadata: { name },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name },
      subjects: [
        { kind: 'Group', apiGroup: 'rbac.authorization.k8s.io', name: `system:serviceaccounts:${ACCESS_NAMESPACE}` },
      ],
    } as KubeObject),
  ]);
}

/**
 * Deletes the workspace of a Cluster, and says whether it is gone. kcp keeps the Workspace object for a while after the
 * logical cluster behind it has gone; from then on nothing is left.
 */
export async function removeWorkspace(admin: HttpKubeClient, parent: KubeClient, cluster: Cluster): Promise<boolean> {
  const name = workspaceName(cluster);
  const present = await parent.get<Workspace>(WORKSPACES, name);
  if (!present || present.metadata.annotations?.[CLUSTER_UID_ANNOTATION] !== cluster.metadata.uid) return true;
  if (!present.metadata.deletionTimestamp) await parent.delete(WORKSPACES, name);
  const logicalCluster = present.spec?.cluster;
  if (!logicalCluster) return false;
  try {
    return !(await admin.at(workspaceUrl(admin.server, logicalCluster)).get(LOGICAL_CLUSTERS, 'cluster'));
  } catch (error) {
    if (isDenied(error)) return true;
    throw error;
  }
}
