import type { KubeClient } from '../../shared/kube/ports.ts';
import { NAMESPACES } from '../../shared/kube/resources.ts';
import { RUNTIME_LABEL, WORKSPACE_NAMESPACE_PREFIX } from '../../shared/names.ts';

/** How many workspaces have objects that are served: each has a tenant namespace on the platform until its last is gone. */
export async function servedWorkspaces(platform: KubeClient, provider: string): Promise<number> {
  const labelSelector = `${RUNTIME_LABEL}=${provider}`;
  const { items } = await platform.list(NAMESPACES, { labelSelector, metadataOnly: true });
  return items.filter(({ metadata }) => metadata.name.startsWith(WORKSPACE_NAMESPACE_PREFIX)).length;
}
