import { z } from 'zod';
import { providerConfig } from '../../../shared/provider/provider-config.ts';
import { serviceApi } from '../../../shared/provider/service-api.ts';
import { defineProvider } from '../../../shared/provider/define.ts';
import { ACCESS, install, type PublicProvider, pollInterval, uninstall, values } from './public-provider.ts';

const provider = defineProvider({
  name: 'flux',
  // As the Go provider names itself.
  controllerName: 'Flux',
  api: serviceApi({
    group: 'flux.services.openmcp.cloud',
    version: 'v1alpha1',
    kind: 'Flux',
    plural: 'fluxes',
    spec: z.object({ version: z.string() }),
  }),
  config: providerConfig({
    group: 'flux.services.openmcp.cloud',
    version: 'v1alpha1',
    spec: z.object({
      ...pollInterval,
      versions: z.array(
        z.object({
          version: z.string(),
          chartVersion: z.string(),
          chartUrl: z.string().default('oci://charts.example.org/flux2'),
          chartPullSecret: z.string().optional(),
          values,
        }),
      ),
      caBundleRef: z.object({ name: z.string(), key: z.string() }).optional(),
    }),
    kcp: false,
  }),
  workloadCluster: false,
  access: { mcp: ACCESS },
  async createOrUpdate(ctx, { spec }) {
    const found = ctx.config.versions.find(({ version }) => version === spec.version);
    await install(ctx.mcp.client, 'flux', { chart: `${found?.chartUrl}:${found?.chartVersion}` });
  },
  delete: (ctx) => uninstall(ctx.mcp.client, 'flux'),
});

export const flux: PublicProvider = {
  provider,
  config: {
    pollInterval: '90s',
    versions: [
      {
        version: 'v2.7.5',
        chartVersion: '2.17.2',
        chartPullSecret: 'registry',
        values: { imagePullSecrets: [{ name: 'registry' }], helmController: { image: 'registry.example.org/helm' } },
      },
    ],
    caBundleRef: { name: 'ca-bundle', key: 'ca.crt' },
  },
  order: { version: 'v2.7.5' },
  installed: { chart: 'oci://charts.example.org/flux2:2.17.2' },
  pollMs: 90_000,
};
