import { z } from 'zod';
import { serviceApi } from '../../../shared/provider/service-api.ts';
import { defineProvider } from '../../../shared/provider/define.ts';
import { ACCESS, install, type PublicProvider, uninstall } from './public-provider.ts';

const provider = defineProvider({
  name: 'plain',
  api: serviceApi({
    group: 'plain.services.open-control-plane.io',
    version: 'v1alpha1',
    kind: 'Plain',
    spec: z.object({ version: z.string() }),
  }),
  workloadCluster: false,
  access: { mcp: ACCESS },
  createOrUpdate: (ctx, { spec }) =>
    install(ctx.mcp.client, 'plain', { version: spec.version, config: `${ctx.config}` }),
  delete: (ctx) => uninstall(ctx.mcp.client, 'plain'),
});

export const plain: PublicProvider = {
  provider,
  config: undefined,
  order: { version: '1' },
  installed: { version: '1', config: 'undefined' },
  pollMs: undefined,
};
