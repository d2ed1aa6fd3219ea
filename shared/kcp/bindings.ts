import { isNotFound } from '../kube/api-error.ts';
import type { KubeClient, ListOptions } from '../kube/ports.ts';
import { API_BINDINGS } from '../kube/resources.ts';
import type { PermissionClaim } from '../model/access.ts';
import type { KubeList, KubeObjectOf } from '../model/kubernetes.ts';

/** An APIBinding of the export, as far as the runtime reads it. */
export type ApiBinding = KubeObjectOf<{
  status?: {
    phase?: string;
    boundResources?: { group: string; resource: string; schema: { name: string } }[];
    /** What the APIExport asks for. `v1alpha1` has no verbs: they are all meant. */
    exportPermissionClaims?: (Omit<PermissionClaim, 'verbs'> & { verbs?: string[] })[];
    /** What of it is accepted and in force. */
    appliedPermissionClaims?: (Omit<PermissionClaim, 'verbs'> & { verbs?: string[] })[];
  };
}>;

/** For servers that don't know the newer version yet. */
export const API_BINDINGS_V1ALPHA1 = { ...API_BINDINGS, version: 'v1alpha1' };

/**
 * The APIBindings of the export at an address of its virtual workspace; readable without any claim.
 * @throws ApiError 403 where the workspace does not bind the export, is gone, or the runtime may not look
 */
export async function listBindings(client: KubeClient, options: ListOptions = {}): Promise<KubeList<ApiBinding>> {
  try {
    return await client.list<ApiBinding>(API_BINDINGS, options);
  } catch (error) {
    if (!isNotFound(error)) throw error;
    return client.list<ApiBinding>(API_BINDINGS_V1ALPHA1, options);
  }
}
