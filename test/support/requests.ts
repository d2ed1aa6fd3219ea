import { configMapName } from '../../functions/providers/foo/provider.ts';
import type { KubeClient } from '../../shared/kube/ports.ts';
import { ACCESS_REQUESTS, CLUSTER_REQUESTS, CONFIG_MAPS, SECRETS } from '../../shared/kube/resources.ts';
import type { KubeObject } from '../../shared/model/kubernetes.ts';
import type { HistoryEntry } from './history.ts';
import type { ConfigMap } from './orders.ts';
import type { TenantWorkspace } from './workspaces.ts';

/** `kind/name` of all requests and Secrets in a tenant's namespace on the platform whose name starts so, in order. */
export async function requestsIn(platform: KubeClient, namespace: string, prefix: string): Promise<string[]> {
  const kinds = await Promise.all(
    [ACCESS_REQUESTS, CLUSTER_REQUESTS, SECRETS].map(async (type) => {
      const { items } = await platform.list(type, { namespace });
      return items.map(({ metadata }) => metadata.name).map((name) => ({ kind: type.kind, name }));
    }),
  );
  return kinds
    .flat()
    .filter(({ name }) => name.startsWith(prefix))
    .map(({ kind, name }) => `${kind}/${name}`)
    .sort();
}

export async function configMapValue(cluster: KubeClient, name: string): Promise<string | undefined> {
  return (await cluster.get<ConfigMap>(CONFIG_MAPS, name, 'default'))?.data?.['foo'];
}

/** What Foo has installed in a workspace. */
export function installedFoo({ client, logicalCluster }: TenantWorkspace): Promise<string | undefined> {
  return configMapValue(client, configMapName(logicalCluster));
}

/** Position of a change in the one counter of the server. */
export function position(entry: HistoryEntry | undefined): number {
  return entry ? Number(entry.resourceVersion) : Number.NaN;
}

/** The first change that shows the object being deleted. */
export function deletionAsked<T extends KubeObject>(entries: readonly HistoryEntry<T>[]): HistoryEntry<T> | undefined {
  return entries.find(({ object }) => object.metadata.deletionTimestamp !== undefined);
}

/** Kind and name of changes, in the order in which they happened. */
export function inOrder(entries: readonly HistoryEntry[]): string[] {
  return [...entries].sort((a, b) => position(a) - position(b)).map(({ kind, name }) => `${kind} ${name}`);
}
