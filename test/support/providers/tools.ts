import { z } from 'zod';
import { CONFIG_MAPS } from '../../../shared/kube/resources.ts';
import { defineProvider } from '../../../shared/provider/define.ts';
import { providerConfig } from '../../../shared/provider/provider-config.ts';
import { serviceApi } from '../../../shared/provider/service-api.ts';
import type { ConfigMap } from '../orders.ts';

const NAMES = { group: 'tools.example.org', version: 'v1alpha1' };
/** That the provider works in, besides. */
export const TOOLS_NAMESPACE = 'toolbox';

const rules = [{ apiGroups: [''], resources: ['configmaps'], verbs: ['get', 'list', 'create', 'patch', 'delete'] }];

/** Works in a namespace of its own in each workspace, with rights there and rights everywhere. */
export const tools = defineProvider({
  name: 'tools',
  api: serviceApi({ ...NAMES, kind: 'Tool', spec: z.object({ foo: z.string().optional() }) }),
  config: providerConfig({ ...NAMES, spec: z.object({}), kcp: true, pollInterval: '0s' }),
  workloadCluster: true,
  access: {
    mcp: { permissions: [{ rules: [{ ...rules[0], verbs: ['get', 'list'] }] }, { namespace: TOOLS_NAMESPACE, rules }] },
    workload: {},
  },
  kcp: {},
  async createOrUpdate(ctx, object) {
    await ctx.mcp.client.apply<ConfigMap>(CONFIG_MAPS, {
      metadata: { name: 'tool', namespace: TOOLS_NAMESPACE },
      data: { foo: object.spec.foo ?? '' },
    });
  },
  async delete(ctx) {
    await ctx.mcp.client.delete(CONFIG_MAPS, 'tool', { namespace: TOOLS_NAMESPACE });
  },
});
