import {
  type AccessSpec,
  applyOwned,
  CONFIG_MAPS,
  defineProvider,
  type KubeClient,
  type KubeObjectOf,
  nameUuid,
  providerConfig,
  removeOwned,
  serviceApi,
} from 'service-provider-runtime';
import { z } from 'zod';

/**
 * The reference provider: the smallest one that does all a provider does. For every Foo it keeps one ConfigMap on the end
 * user cluster and one on the workload cluster. It serves both modes and doesn't know in which one it runs.
 */

const GROUP = 'foo.services.open-control-plane.io';
const NAMESPACE = 'default';

type ConfigMap = KubeObjectOf<{ data: Record<string, string> }>;

const MANAGE_CONFIG_MAPS: AccessSpec = {
  permissions: [
    {
      rules: [
        {
          apiGroups: [''],
          resources: ['configmaps'],
          verbs: ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete'],
        },
      ],
    },
  ],
};

/**
 * Name of the ConfigMap on the end user cluster; the one on the (shared) workload cluster ends in `-wl`. A whole UUID: of a
 * shorter hash tenants, who choose their names, find two that are the same.
 */
export function configMapName(identity: string): string {
  return `foo-${nameUuid(identity)}`;
}

const configMap = (name: string, foo: string): ConfigMap => ({
  metadata: { name, namespace: NAMESPACE },
  data: { installed: 'true', foo },
});

/** Whether nothing is left on the end user cluster; somebody else's finalizer may hold it for a while. */
async function uninstall(client: KubeClient, name: string): Promise<boolean> {
  const existed = await client.delete(CONFIG_MAPS, name, { namespace: NAMESPACE });
  return !existed || (await client.get(CONFIG_MAPS, name, NAMESPACE)) === undefined;
}

export const foo = defineProvider({
  name: 'foo',
  api: serviceApi({
    group: GROUP,
    version: 'v1alpha1',
    kind: 'Foo',
    spec: z.object({ foo: z.string().optional() }).describe('What is wanted.'),
    status: z.object({ foo: z.string().optional().describe('The value that is installed.') }),
  }),
  config: providerConfig({
    group: GROUP,
    version: 'v1alpha1',
    spec: z.object({}).describe('How the provider behaves.'),
    kcp: true,
    pollInterval: '1m',
  }),
  workloadCluster: true,
  access: { mcp: MANAGE_CONFIG_MAPS, workload: MANAGE_CONFIG_MAPS },
  kcp: {},

  async createOrUpdate(ctx, object) {
    const value = object.spec.foo ?? '';
    const name = configMapName(ctx.identity);
    await ctx.mcp.client.apply(CONFIG_MAPS, configMap(name, value));
    // Other tenants' are there as well: never over one of theirs.
    if (ctx.workload) await applyOwned(ctx.workload.client, CONFIG_MAPS, configMap(`${name}-wl`, value), ctx.owner);
    ctx.status.set({ foo: value });
    ctx.status.ready();
  },

  async delete(ctx) {
    const name = configMapName(ctx.identity);
    const onWorkload = { name: `${name}-wl`, namespace: NAMESPACE };
    const gone = await Promise.all([
      uninstall(ctx.mcp.client, name),
      ctx.workload ? removeOwned(ctx.workload.client, CONFIG_MAPS, onWorkload, ctx.owner) : true,
    ]);
    return gone.every(Boolean) ? undefined : { requeueAfter: '1s' };
  },
});

export default foo;
