import { z } from 'zod';
import { providerConfig } from '../../shared/provider/provider-config.ts';
import { serviceApi } from '../../shared/provider/service-api.ts';
import { defineProvider } from '../../shared/provider/define.ts';
import type { KubeClient } from '../../shared/kube/ports.ts';
import { CONFIG_MAPS } from '../../shared/kube/resources.ts';
import type { AccessSpec } from '../../shared/model/access.ts';
import type { KubeObjectOf } from '../../shared/model/kubernetes.ts';

const GROUP = 'foo.services.open-control-plane.io';
const NAMESPACE = 'default';

type ConfigMap = KubeObjectOf<{ data: Record<string, string> }>;

const ALL: AccessSpec = { permissions: [{ rules: [{ apiGroups: ['*'], resources: ['*'], verbs: ['*'] }] }] };

/** Names that `test/go-peer` gives its ConfigMaps: on the tenant's cluster, and on the workload cluster. */
export function goConfigMapNames(namespace: string, name: string): { mcp: string; workload: string } {
  return { mcp: `foo-${namespace}-${name}`, workload: `foo-${namespace}-${name}-wl` };
}

async function install(client: KubeClient, name: string): Promise<void> {
  await client.apply<ConfigMap>(CONFIG_MAPS, { metadata: { name, namespace: NAMESPACE }, data: { installed: 'true' } });
}

async function uninstall(client: KubeClient, name: string): Promise<boolean> {
  await client.delete(CONFIG_MAPS, name, { namespace: NAMESPACE });
  return (await client.get(CONFIG_MAPS, name, NAMESPACE)) === undefined;
}

/** `test/go-peer/main.go` moved over: the same type, names, permissions and things installed, on this runtime. */
export const goFoo = defineProvider({
  name: 'foo',
  api: serviceApi({
    group: GROUP,
    version: 'v1alpha1',
    kind: 'Foo',
    spec: z.object({ foo: z.string().optional() }),
  }),
  config: providerConfig({ group: GROUP, version: 'v1alpha1', spec: z.object({}), kcp: false, pollInterval: '1m' }),
  workloadCluster: true,
  access: { mcp: ALL, workload: ALL },
  async createOrUpdate(ctx, { metadata: { namespace = '', name } }) {
    const names = goConfigMapNames(namespace, name);
    await install(ctx.mcp.client, names.mcp);
    if (ctx.workload) await install(ctx.workload.client, names.workload);
  },
  async delete(ctx, { metadata: { namespace = '', name } }) {
    const names = goConfigMapNames(namespace, name);
    const gone = [
      ctx.mcp ? await uninstall(ctx.mcp.client, names.mcp) : true,
      ctx.workload ? await uninstall(ctx.workload.client, names.workload) : true,
    ];
    return gone.every(Boolean) ? undefined : { requeueAfter: '1s' };
  },
});
