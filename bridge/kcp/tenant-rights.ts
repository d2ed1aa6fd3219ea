import type { Provider } from '../../shared/provider/provider.ts';
import { messageOf } from '../../shared/errors.ts';
import { isDenied } from '../../shared/kube/api-error.ts';
import type { KubeClient } from '../../shared/kube/ports.ts';
import { isInForce, tenantRights } from './decide-tenant-rights.ts';

/**
 * Gives tenants, in the provider workspace, all rights to the provider's type but that to write its status.
 * @returns undefined when they are in force; else why the runtime can't see to it
 */
export async function ensureTenantRights(workspace: KubeClient, provider: Provider): Promise<string | undefined> {
  try {
    for (const right of tenantRights(provider.name, provider.api.type)) {
      const there = await workspace.get(right.type, right.object.metadata.name);
      if (!isInForce(right, there)) await workspace.apply(right.type, right.object);
    }
    return undefined;
  } catch (error) {
    if (isDenied(error)) return messageOf(error);
    throw error;
  }
}
