import { ACCESS_REQUESTS, CLUSTER_REQUESTS } from '../../shared/kube/resources.ts';
import type { KubeObject } from '../../shared/model/kubernetes.ts';
import { formatObjectKey } from '../../shared/model/object-key.ts';
import { MANAGED_BY_LABEL, REGISTRATIONS_ANNOTATION, shortenName } from '../../shared/names.ts';
import type { Run } from '../step/run.ts';
import { decideStrays } from './decide-strays.ts';
import { registrationsOf, type RequestIdentity, requestIdentities } from './desired.ts';
import { readRegistrations, registrationsText } from './ownership.ts';
import { removeOne } from './requests.ts';

/**
 * Removes what registrations ordered that are withdrawn by now: a provider's newer version needs no workload cluster, or
 * one cluster less. Looks in the namespaces that the object has requests in, and at those that are remembered.
 * @param holder the object's first request as it was read last
 * @param options.all the object itself goes: whoever may want them
 * @returns what is still on its way out
 */
export async function removeStrays(
  run: Run,
  holder: KubeObject | undefined,
  options: { all: boolean },
): Promise<string | undefined> {
  const { key, provider, platform, tenantNamespace, inForce } = run;
  const wanted = requestIdentities(key, provider);
  const owners = [
    ...new Set([
      shortenName(provider.controllerName),
      ...wanted.map(({ ownerLabels }) => ownerLabels[MANAGED_BY_LABEL]),
    ]),
  ];
  const labelSelector = `${MANAGED_BY_LABEL} in (${owners.join(',')})`;
  const namespaces = [...new Set([tenantNamespace, ...wanted.map(({ namespace }) => namespace)])];
  const remembered = rememberedOf(holder).filter((one) => !wanted.some((each) => isSame(each, one)));
  const find = async (type: typeof ACCESS_REQUESTS): Promise<KubeObject[]> => {
    const lists = namespaces.map(async (namespace) => {
      const { items } = await platform.list(type, { namespace, labelSelector, metadataOnly: true });
      return items;
    });
    const single = remembered
      .filter(({ ordersCluster }) => ordersCluster || type === ACCESS_REQUESTS)
      .map(async ({ namespace, name }) => (await platform.get(type, name, namespace)) ?? []);
    return unique((await Promise.all([...lists, ...single])).flat());
  };
  const [accessRequests, clusterRequests] = await Promise.all([find(ACCESS_REQUESTS), find(CLUSTER_REQUESTS)]);
  const strays = decideStrays(key, wanted, { accessRequests, clusterRequests }, options.all ? undefined : inForce);
  for (const { kind, identity } of strays) {
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
  const annotations = { [REGISTRATIONS_ANNOTATION]: registrationsText(registrationsOf(key, provider, identities)) };
  await platform.mergePatch(ACCESS_REQUESTS, first.name, { metadata: { annotations } }, { namespace: first.namespace });
}

type Remembered = Pick<RequestIdentity, 'namespace' | 'name' | 'ordersCluster'>;

function rememberedOf(holder: KubeObject | undefined): Remembered[] {
  return readRegistrations(holder?.metadata.annotations?.[REGISTRATIONS_ANNOTATION]).hidden.flatMap((text) => {
    const [namespace, named] = text.split('/');
    if (!namespace || !named) return [];
    return { namespace, name: named.replace(/\*$/, ''), ordersCluster: named.endsWith('*') };
  });
}

function isSame(a: Remembered, b: Remembered): boolean {
  return a.namespace === b.namespace && a.name === b.name && a.ordersCluster === b.ordersCluster;
}

function unique(requests: readonly KubeObject[]): KubeObject[] {
  return [...new Map(requests.map((each) => [`${each.metadata.namespace}/${each.metadata.name}`, each])).values()];
}
