import type { ApiExport } from '../../bridge/kcp/decide-provision.ts';
import type { ApiBinding as BoundExport } from '../../shared/kcp/bindings.ts';
import type { KubeClient } from '../../shared/kube/ports.ts';
import { API_BINDINGS, API_EXPORTS } from '../../shared/kube/resources.ts';
import type { PermissionClaim } from '../../shared/model/access.ts';
import type { KubeObjectOf } from '../../shared/model/kubernetes.ts';
import { eventually } from './wait.ts';

const TIMEOUT_MS = 60_000;

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

/** Binds an APIExport in a workspace, with its claims as they are now, and waits until the binding is in force. */
export async function bindExport(
  workspace: KubeClient,
  provider: { client: KubeClient; path: string },
  exportName: string,
  options: BindOptions = {},
): Promise<ApiBinding> {
  const offered = await provider.client.get<ApiExport>(API_EXPORTS, exportName);
  if (!offered) throw new Error(`no APIExport ${exportName} in ${provider.path}`);
  const { claims = 'all', name = exportName, selector = { matchAll: true } } = options;
  const accepts = (claim: PermissionClaim): boolean =>
    typeof claims === 'function' ? claims(claim) : claims === 'all';
  const permissionClaims = (offered.spec?.permissionClaims ?? []).map((claim) => ({
    ...claim,
    selector,
    state: accepts(claim) ? ('Accepted' as const) : ('Rejected' as const),
  }));
  await workspace.apply<ApiBinding>(API_BINDINGS, {
    metadata: { name },
    spec: { reference: { export: { path: provider.path, name: exportName } }, permissionClaims },
  });
  const accepted = permissionClaims.filter(({ state }) => state === 'Accepted').length;
  return eventually(
    `APIBinding ${name} in ${workspace.server} is bound`,
    async (seen) => {
      const binding = await workspace.get<ApiBinding>(API_BINDINGS, name);
      seen(binding?.status);
      const applied = binding?.status?.appliedPermissionClaims?.length ?? 0;
      if (binding?.status?.phase !== 'Bound' || applied !== accepted) return undefined;
      // Its types are served a moment later.
      for (const { group, resource: plural, storageVersions } of binding.status.boundResources ?? [])
        await workspace.list({ group, version: storageVersions?.[0] ?? '', plural, kind: '', namespaced: true });
      return binding;
    },
    { timeout: TIMEOUT_MS },
  );
}
