import { ACCESS_REQUESTS, CLUSTER_REQUESTS } from '../../shared/kube/resources.ts';
import { MANAGED_BY_LABEL, REGISTRATIONS_ANNOTATION, shortenName } from '../../shared/names.ts';
import { formatObjectKey } from '../../shared/model/object-key.ts';
import type { Run } from '../step/run.ts';
import { decideStrays } from './decide-strays.ts';
import { registrationsOf, requestIdentities } from './desired.ts';
import { removeOne } from './requests.ts';

/**
 * Removes what registrations ordered that are withdrawn by now: a provider's newer version needs no workload cluster, or
 * one cluster less. Looks in the namespaces that the object has requests in.
 * @returns what is still on its way out
 */
export async function removeStrays({ key, provider, platform, tenantNamespace }: Run): Promise<string | undefined> {
  const wanted = requestIdentities(key, provider);
  const owners = [
    ...new Set([
      shortenName(provider.controllerName),
      ...wanted.map(({ ownerLabels }) => ownerLabels[MANAGED_BY_LABEL]),
    ]),
  ];
  const labelSelector = `${MANAGED_BY_LABEL} in (${owners.join(',')})`;
  const namespaces = [...new Set([tenantNamespace, ...wanted.map(({ namespace }) => namespace)])];
  const list = async (type: typeof ACCESS_REQUESTS) => {
    const lists = await Promise.all(
      namespaces.map((namespace) => platform.list(type, { namespace, labelSelector, metadataOnly: true })),
    );
    return lists.flatMap(({ items }) => items);
  };
  const [accessRequests, clusterRequests] = await Promise.all([list(ACCESS_REQUESTS), list(CLUSTER_REQUESTS)]);
  for (const { kind, identity } of decideStrays(key, wanted, { accessRequests, clusterRequests })) {
    const type = kind === 'AccessRequest' ? ACCESS_REQUESTS : CLUSTER_REQUESTS;
    const gone = await removeOne(platform, type, identity, formatObjectKey(key));
    if (!gone) return `${kind} ${identity.namespace}/${identity.name}`;
  }
  return undefined;
}

/** Remembers on the first request that nothing is left, so that it need not be looked for in each pass. */
export async function rememberRegistrations({ key, provider, platform }: Run): Promise<void> {
  const identities = requestIdentities(key, provider);
  const [first] = identities;
  if (!first) return;
  const annotations = { [REGISTRATIONS_ANNOTATION]: registrationsOf(identities) };
  await platform.mergePatch(ACCESS_REQUESTS, first.name, { metadata: { annotations } }, { namespace: first.namespace });
}
