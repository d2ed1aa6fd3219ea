import { foo } from '../../functions/providers/foo/provider.ts';
import { ACCESS_REQUESTS, CLUSTER_REQUESTS, CONFIG_MAPS, SECRETS } from '../../shared/kube/resources.ts';
import type { History } from '../support/history.ts';
import { recordHistory } from '../support/history.ts';
import type { HttpKubeClient } from '../../shared/kube/client.ts';
import type { Actor } from './scene.ts';

/** Watches everything that a teardown removes. */
export function watchTeardown(platform: HttpKubeClient, workload: HttpKubeClient, actors: Actor[]): Promise<History> {
  const homes = [...new Map(actors.map((actor) => [actor.home.server, actor.home])).values()];
  const endUsers = [...new Map(actors.map((actor) => [actor.endUser.server, actor.endUser])).values()];
  return recordHistory([
    { client: platform, types: [ACCESS_REQUESTS, CLUSTER_REQUESTS, SECRETS] },
    ...homes.map((client) => ({ client, types: [foo.api.type] })),
    ...[...endUsers, workload].map((client) => ({ client, types: [CONFIG_MAPS] })),
  ]);
}

/** What was removed for one object, in the order in which it went. All of it is on one kcp, so versions are an order. */
export function teardownOrder(history: History, actor: Actor): string[] {
  const removed = history.entries.filter(
    (entry) =>
      entry.type === 'DELETED' &&
      (entry.namespace === actor.tenantNamespace ||
        (entry.kind === CONFIG_MAPS.kind && entry.name.startsWith(actor.configMap)) ||
        (entry.kind === foo.api.type.kind && entry.namespace === actor.namespace && entry.name === actor.name)),
  );
  return (
    removed
      // Kubeconfigs of requests are the cluster provider's to remove; that of a workspace is the runtime's.
      .filter((entry) => entry.kind !== SECRETS.kind || entry.name.endsWith('--workspace--mcp'))
      .sort((a, b) => Number(a.resourceVersion) - Number(b.resourceVersion))
      .map((entry) => `${entry.kind} ${entry.name}`)
  );
}
