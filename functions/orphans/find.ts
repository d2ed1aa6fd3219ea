import type { KubeClient } from '../../shared/kube/ports.ts';
import { ACCESS_REQUESTS, CLUSTER_REQUESTS, CONFIG_MAPS, NAMESPACES, SECRETS } from '../../shared/kube/resources.ts';
import { MANAGED_BY_LABEL, RUNTIME_LABEL, shortenName } from '../../shared/names.ts';
import type { Provider } from '../../shared/provider/provider.ts';
import { inRemovalOrder, type Owned, ownerKey } from './decide-orphans.ts';

/** Everything on the platform cluster that the provider has for tenants' objects, in the order of its removal. */
export async function findOwned(platform: KubeClient, provider: Provider): Promise<Owned[]> {
  const managed = `${MANAGED_BY_LABEL}=${shortenName(provider.controllerName)}`;
  const selectors = [
    ...[ACCESS_REQUESTS, CLUSTER_REQUESTS, SECRETS, CONFIG_MAPS].map((type) => ({ type, labelSelector: managed })),
    { type: NAMESPACES, labelSelector: `${RUNTIME_LABEL}=${provider.name}` },
  ];
  const found = await Promise.all(
    selectors.map(async ({ type, labelSelector }) => {
      // Metadata is all that is needed, and Secrets stay where they are.
      const { items } = await platform.list(type, { labelSelector, metadataOnly: true });
      return items.flatMap((object): Owned[] => {
        const key = ownerKey(provider.name, object);
        return key === 'not-ours' ? [] : [{ type, object, key }];
      });
    }),
  );
  return inRemovalOrder(found.flat());
}
