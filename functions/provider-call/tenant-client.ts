import type { KubeClient, PatchOptions } from '../../shared/kube/ports.ts';
import type { ResourceType } from '../../shared/model/kubernetes.ts';
import { type Run, tenantView } from '../step/run.ts';
import { valueForTenants } from '../step/decide-tenant-view.ts';

/**
 * A client of a cluster where tenants read, in a provider's hands: what it says there passes through the same place as what
 * it reports. That is Events, and the status of the object itself; what a provider installs is its own concern.
 */
export function tenantClient(client: KubeClient, run: Run): KubeClient {
  const said = <T extends object>(type: ResourceType, object: T, options?: Pick<PatchOptions, 'subresource'>): T => {
    if (!speaks(type, run.provider.api.type, options?.subresource)) return object;
    const { metadata, ...rest } = object as { metadata?: object };
    const kept: string[] = [];
    const shown = valueForTenants(rest, tenantView(run), (text) => kept.push(text)) as object;
    if (kept.length > 0) run.log.info({ kept, kind: type.kind }, 'kept from tenants');
    return (metadata === undefined ? shown : { ...shown, metadata }) as T;
  };
  const writers: Partial<KubeClient> = {
    create: (type, object) => client.create(type, said(type, object)),
    mergePatch: (type, name, patch, options) => client.mergePatch(type, name, said(type, patch, options), options),
    apply: (type, object, options) => client.apply(type, said(type, object, options), options),
  };
  return new Proxy(client, {
    get(target, name) {
      const value: unknown = writers[name as keyof KubeClient] ?? Reflect.get(target, name, target);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
}

function speaks(type: ResourceType, ours: ResourceType, subresource: string | undefined): boolean {
  if (type.plural === 'events' && (type.group === '' || type.group === 'events.k8s.io')) return true;
  return subresource === 'status' && type.group === ours.group && type.plural === ours.plural;
}
