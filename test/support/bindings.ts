import type { ApiExport } from '../../bridge/kcp/decide-provision.ts';
import type { ApiBinding as BoundExport } from '../../shared/kcp/bindings.ts';
import type { KubeClient } from '../../shared/kube/ports.ts';
import { API_BINDINGS, API_EXPORT_ENDPOINT_SLICES, API_EXPORTS } from '../../shared/kube/resources.ts';
import type { PermissionClaim } from '../../shared/model/access.ts';
import type { KubeObjectOf } from '../../shared/model/kubernetes.ts';
import { eventually } from './wait.ts';

/** A binding as its tenant writes it. */
export type ApiBinding = BoundExport &
  KubeObjectOf<{
    spec: {
      reference: { export: { path: string; name: string } };
      permissionClaims?: (PermissionClaim & { selector: object; state: 'Accepted' | 'Rejected' })[];
    };
    status?: { boundResources?: { storageVersions?: string[] }[] };
  }>;

export interface BindOptions {
  /**
   * Which of the export's claims the tenant accepts: all (the default), none, or those for which the function is true.
   * The others are rejected.
   */
  claims?: 'all' | 'none' | ((claim: PermissionClaim) => boolean);
  /** Name of the binding; default that of the export. */
  name?: string;
  /** Which objects accepted claims are about; default all. */
  selector?: { matchAll: true } | { matchLabels: Record<string, string> };
}

/** Binds an APIExport as soon as that is there, with its claims of then, and waits until the binding is in force. */
export async function bindExport(
  workspace: KubeClient,
  provider: { client: KubeClient; path: string },
  exportName: string,
  { claims = 'all', name = exportName, selector = { matchAll: true } }: BindOptions = {},
): Promise<ApiBinding> {
  const accepts = (claim: PermissionClaim): boolean =>
    typeof claims === 'function' ? claims(claim) : claims === 'all';
  const { spec } = await eventually(`APIExport ${exportName} of ${provider.path} can be bound`, async () => {
    const offered = await provider.client.get<ApiExport>(API_EXPORTS, exportName);
    if (!offered) return undefined;
    const permissionClaims = (offered.spec?.permissionClaims ?? []).map((claim) => ({
      ...claim,
      selector,
      state: accepts(claim) ? ('Accepted' as const) : ('Rejected' as const),
    }));
    const reference = { export: { path: provider.path, name: exportName } };
    return workspace.apply<ApiBinding>(API_BINDINGS, { metadata: { name }, spec: { reference, permissionClaims } });
  });
  const accepted = spec.permissionClaims?.filter(({ state }) => state === 'Accepted').length ?? 0;
  return eventually(`APIBinding ${name} in ${workspace.server} is bound`, async (seen) => {
    const binding = await workspace.get<ApiBinding>(API_BINDINGS, name);
    seen(binding?.status);
    const applied = binding?.status?.appliedPermissionClaims?.length ?? 0;
    if (binding?.status?.phase !== 'Bound' || applied !== accepted) return undefined;
    // Its types are served a moment later.
    for (const { group, resource: plural, storageVersions } of binding.status.boundResources ?? [])
      await workspace.list({ group, version: storageVersions?.[0] ?? '', plural, kind: '', namespaced: true });
    return binding;
  });
}

/** Accepts or rejects the claims of a binding that is there already. */
export async function answerClaims(
  workspace: KubeClient,
  name: string,
  answer: (resource: string) => 'Accepted' | 'Rejected',
): Promise<void> {
  const binding = await workspace.get<ApiBinding>(API_BINDINGS, name);
  const claims = binding?.spec.permissionClaims?.map((claim) => ({ ...claim, state: answer(claim.resource) }));
  await workspace.mergePatch(API_BINDINGS, name, { spec: { permissionClaims: claims } });
}

/** Where an export is served: one address for each shard that has a binding of it. */
export async function endpointUrls(services: KubeClient, exportName: string): Promise<string[]> {
  type Slice = KubeObjectOf<{ status?: { endpoints?: { url: string }[] } }>;
  // As the runtime may: it has no right to get one.
  const { items } = await services.list<Slice>(API_EXPORT_ENDPOINT_SLICES);
  const slice = items.find(({ metadata }) => metadata.name === exportName);
  return slice?.status?.endpoints?.map(({ url }) => url) ?? [];
}
