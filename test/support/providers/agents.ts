import { z } from 'zod';
import { clientFor } from '../../../shared/kube/connect.ts';
import type { HttpKubeClient } from '../../../shared/kube/client.ts';
import { kubeconfigFromSecret, parseKubeconfig } from '../../../shared/kube/kubeconfig.ts';
import { SECRETS } from '../../../shared/kube/resources.ts';
import type { AccessSpec, Secret } from '../../../shared/model/access.ts';
import { providerConfig } from '../../../shared/provider/provider-config.ts';
import { serviceApi } from '../../../shared/provider/service-api.ts';
import { defineProvider } from '../../../shared/provider/define.ts';
import type { KcpTenants } from '../kcp-tenants.ts';
import type { TenantWorkspace } from '../workspaces.ts';

const NAMES = { group: 'agents.example.org', version: 'v1alpha1' };

const SECRETS_ACCESS: AccessSpec = {
  permissions: [{ rules: [{ apiGroups: [''], resources: ['secrets'], verbs: ['*'] }] }],
};
const READ: AccessSpec = {
  permissions: [{ rules: [{ apiGroups: [''], resources: ['configmaps'], verbs: ['get', 'list'] }] }],
};

/** Name of the copy. */
export const agentName = (identity: string): string => `agent-${identity}`;

/** Installs nothing but an agent's kubeconfig: a copy on the workload cluster, which is what workloads run with. */
export const agents = defineProvider({
  name: 'agents',
  api: serviceApi({ ...NAMES, kind: 'Agent', spec: z.object({ foo: z.string().optional() }) }),
  config: providerConfig({ ...NAMES, spec: z.object({}), kcp: true, pollInterval: '10s' }),
  workloadCluster: true,
  access: { mcp: READ, workload: SECRETS_ACCESS },
  kcp: { permissionClaims: [{ group: '', resource: 'configmaps', verbs: ['get', 'list'] }] },
  async createOrUpdate(ctx) {
    const kubeconfig = Buffer.from(ctx.mcp.kubeconfig).toString('base64');
    await ctx.workload?.client.apply<Secret>(SECRETS, {
      metadata: { name: agentName(ctx.identity), namespace: 'default' },
      data: { kubeconfig },
    });
  },
  async delete(ctx) {
    await ctx.workload?.client.delete(SECRETS, agentName(ctx.identity), { namespace: 'default' });
  },
});

export interface EmbeddedAccess {
  readonly token: string;
  readonly client: HttpKubeClient;
}

/** The copy that a workload runs with, as it is now. */
export async function embeddedAccess(
  tenants: KcpTenants,
  workspace: TenantWorkspace,
  name: string,
): Promise<EmbeddedAccess> {
  const workload = await tenants.workloadCluster(workspace, name);
  const secret = await workload.get<Secret>(SECRETS, agentName(workspace.logicalCluster), 'default');
  const credentials = parseKubeconfig(kubeconfigFromSecret(secret ?? {}, 'the workload'), 'the workload');
  return { token: credentials.token ?? '', client: clientFor(credentials) };
}
