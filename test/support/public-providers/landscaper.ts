import { z } from 'zod';
import { providerConfig } from '../../../shared/provider/provider-config.ts';
import { serviceApi } from '../../../shared/provider/service-api.ts';
import { defineProvider } from '../../../shared/provider/define.ts';
import { ACCESS, install, type PublicProvider, uninstall } from './public-provider.ts';

const image = z.object({ image: z.string().min(1) }).optional();

const provider = defineProvider({
  name: 'landscaper',
  api: serviceApi({
    group: 'landscaper.services.openmcp.cloud',
    version: 'v1alpha2',
    kind: 'Landscaper',
    shortNames: ['ls'],
    spec: z.object({ version: z.string() }),
  }),
  config: providerConfig({
    group: 'landscaper.services.openmcp.cloud',
    version: 'v1alpha2',
    spec: z.object({
      deployment: z.object({
        repository: z.string().min(1),
        availableVersions: z.array(z.string()).min(1),
        landscaperController: image,
        landscaperWebhooksServer: image,
        helmDeployer: image,
        manifestDeployer: image,
      }),
      workloadClusterDomain: z.string().min(1).optional(),
    }),
    kcp: false,
  }),
  workloadCluster: true,
  access: { mcp: ACCESS, workload: ACCESS },
  async createOrUpdate(ctx, { spec }) {
    const { repository, helmDeployer } = ctx.config.deployment;
    const data = { controller: `${repository}:${spec.version}`, helm: helmDeployer?.image ?? repository };
    await install(ctx.mcp.client, 'landscaper', data);
  },
  delete: (ctx) => uninstall(ctx.mcp.client, 'landscaper'),
});

export const landscaper: PublicProvider = {
  provider,
  config: {
    deployment: {
      repository: 'registry.example.org/landscaper',
      availableVersions: ['v0.142.0'],
      helmDeployer: { image: 'mirror.example.org/helm-deployer' },
    },
    workloadClusterDomain: 'workload.example.org',
  },
  order: { version: 'v0.142.0' },
  installed: { controller: 'registry.example.org/landscaper:v0.142.0', helm: 'mirror.example.org/helm-deployer' },
  pollMs: undefined,
};
