import { z } from 'zod';
import { providerConfig } from '../../shared/provider/provider-config.ts';
import { serviceApi } from '../../shared/provider/service-api.ts';
import type { CallResult, ProviderContext, ServiceObjectOf } from '../../shared/provider/context.ts';
import { defineProvider, type StandardProviderOptions } from '../../shared/provider/define.ts';
import type { ConfiguredProvider } from '../../shared/provider/provider.ts';
import type { KubeClient } from '../../shared/kube/ports.ts';
import { CONFIG_MAPS } from '../../shared/kube/resources.ts';
import type { AccessSpec } from '../../shared/model/access.ts';
import type { ConfigMap } from './orders.ts';

const SPEC = z.object({ foo: z.string().optional() });
const CONFIG = z.object({
  namespace: z.string().optional(),
  greeting: z.string().optional(),
  secrets: z.array(z.string()).optional(),
});

export type ProbeObject = ServiceObjectOf<z.output<typeof SPEC>>;
export type ProbeConfig = z.output<typeof CONFIG>;
export type ProbeContext = ProviderContext<ProbeConfig>;
type Options<Data> = StandardProviderOptions<typeof SPEC, typeof CONFIG, Data>;

/** One call of the provider by the runtime. */
export interface Call {
  readonly call: 'createOrUpdate' | 'delete';
  readonly name: string;
  readonly generation: number;
  readonly config: ProbeConfig;
}

export interface Probe {
  readonly provider: ConfiguredProvider;
  /** Every call, oldest first. */
  readonly calls: readonly Call[];
  installs(name: string): number;
  deletes(name: string): number;
}

export const MANAGE_CONFIG_MAPS: AccessSpec = { permissions: [{ rules: [rule(['configmaps'])] }] };

export function rule(resources: string[], apiGroups = ['']) {
  return { apiGroups, resources, verbs: ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete'] };
}

/**
 * A provider as small as a provider can be, for tests that look at what the runtime does around it: it keeps one
 * ConfigMap on the end user cluster. Everything else is as the test says.
 */
export function probe<Data = undefined>(
  name: string,
  options: Partial<Omit<Options<Data>, 'name' | 'api' | 'config'>> = {},
): Probe {
  const group = `${name}.services.open-control-plane.io`;
  const calls: Call[] = [];
  const heard = (call: Call['call'], object: ProbeObject, config: ProbeConfig): void => {
    const { generation = 0 } = object.metadata;
    calls.push({ call, name: object.metadata.name, generation, config });
  };
  const provider = defineProvider<typeof SPEC, typeof CONFIG, Data>({
    access: { mcp: MANAGE_CONFIG_MAPS },
    workloadCluster: false,
    ...options,
    name,
    api: serviceApi({
      group,
      version: 'v1alpha1',
      kind: 'Probe',
      spec: SPEC,
      status: z.object({ note: z.string().optional(), other: z.string().optional() }),
    }),
    config: providerConfig({ group, version: 'v1alpha1', spec: CONFIG, kcp: false }),
    async createOrUpdate(ctx, object): Promise<CallResult> {
      heard('createOrUpdate', object, ctx.config);
      if (options.createOrUpdate) return options.createOrUpdate(ctx, object);
      return install(ctx.mcp.client, object);
    },
    async delete(ctx, object): Promise<CallResult> {
      heard('delete', object, ctx.config);
      if (options.delete) return options.delete(ctx, object);
      return uninstall(ctx.mcp.client, object);
    },
  });
  const count = (call: Call['call'], of: string) => calls.filter((one) => one.call === call && one.name === of).length;
  return { provider, calls, installs: (of) => count('createOrUpdate', of), deletes: (of) => count('delete', of) };
}

export function installedName(object: { metadata: { name: string } }): string {
  return `probe-${object.metadata.name}`;
}

export async function install(client: KubeClient, object: ProbeObject, value = object.spec.foo ?? ''): Promise<void> {
  await client.apply<ConfigMap>(CONFIG_MAPS, {
    metadata: { name: installedName(object), namespace: 'default' },
    data: { foo: value },
  });
}

export async function uninstall(client: KubeClient, object: ProbeObject): Promise<CallResult> {
  const name = installedName(object);
  const existed = await client.delete(CONFIG_MAPS, name, { namespace: 'default' });
  return existed && (await client.get(CONFIG_MAPS, name, 'default')) ? { requeueAfter: '300ms' } : undefined;
}
