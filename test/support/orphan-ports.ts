import { orphansOf } from '../../functions/orphans/orphans.ts';
import type { PresencePorts } from '../../functions/orphans/presence.ts';
import { readProviderConfig } from '../../functions/step/config-state.ts';
import { Workspaces } from '../../shared/kcp/workspaces.ts';
import type { KubeClient } from '../../shared/kube/ports.ts';
import type { Provider } from '../../shared/provider/provider.ts';
import type { KcpTenants } from './kcp-tenants.ts';
import type { Stage } from './stage.ts';

/** How `orphans` looks at tenants' objects on the servers of a stage. */
export function orphanPorts(
  provider: Provider,
  stage: Stage,
  tenants: KcpTenants,
  onboarding: () => Promise<KubeClient>,
): PresencePorts {
  const platform = stage.landscape.platform.client;
  const workspaces = new Workspaces({ exportName: tenants.exportName });
  return {
    type: provider.api.type,
    onboarding,
    async workspace(logicalCluster) {
      const config = await readProviderConfig(platform, provider);
      if (config.state !== 'ok' || !config.runtime.kcp) throw new Error('no kcp settings');
      return workspaces.open(platform, config.runtime.kcp, logicalCluster, () => undefined);
    },
  };
}

/** What `orphans` finds and does not take for in use, a line each. */
export async function orphansIn(provider: Provider, stage: Stage, tenants: KcpTenants): Promise<string[]> {
  const { platform, onboarding } = stage.landscape;
  const ports = orphanPorts(provider, stage, tenants, () => Promise.resolve(onboarding.client));
  const found: string[] = [];
  for await (const { owned, verdict } of orphansOf(platform.client, provider, ports, false)) {
    const { namespace, name } = owned.object.metadata;
    if (verdict.verdict !== 'in-use') found.push(`${verdict.verdict} ${owned.type.kind} ${namespace}/${name}`);
  }
  return found;
}
