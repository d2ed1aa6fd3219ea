import {
  type AccessSpec,
  CONFIG_MAPS,
  defineProvider,
  type KubeClient,
  type KubeObjectOf,
  providerConfig,
  serviceApi,
  shortenName,
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
 * Name of the ConfigMap on the end user cluster; the one on the (shared) workload cluster ends in `-wl`. Namespaces hold
 * no dots, so two tenants never get the same name.
 */
export function configMapName(identity: string): string {
  return shortenName(`foo-${identity.replaceAll('/', '.')}`);
}

async function install(client: KubeClient, name: string, foo: string): Promise<void> {
  const metadata = { name, namespace: NAMESPACE };
  await client.apply<ConfigMap>(CONFIG_MAPS, { metadata, data: { installed: 'true', foo } });
}

/** Whether nothing is left; somebody else's finalizer may hold it for a while. */
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
    await install(ctx.mcp.client, configMapName(ctx.identity), value);
    if (ctx.workload) await install(ctx.workload.client, `${configMapName(ctx.identity)}-wl`, value);
    ctx.status.set({ foo: value });
    ctx.status.ready();
  },

  async delete(ctx) {
    const gone = await Promise.all([
      // A workspace on its way out takes its content with it.
      ctx.mcp ? uninstall(ctx.mcp.client, configMapName(ctx.identity)) : true,
      ctx.workload ? uninstall(ctx.workload.client, `${configMapName(ctx.identity)}-wl`) : true,
    ]);
    return gone.every(Boolean) ? undefined : { requeueAfter: '1s' };
  },
});

export default foo;
