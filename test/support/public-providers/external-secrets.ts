import { z } from 'zod';
import { providerConfig } from '../../../shared/provider/provider-config.ts';
import { serviceApi } from '../../../shared/provider/service-api.ts';
import { defineProvider } from '../../../shared/provider/define.ts';
import { ACCESS, install, type PublicProvider, uninstall, values } from './public-provider.ts';

const provider = defineProvider({
  name: 'external-secrets',
  api: serviceApi({
    group: 'external-secrets.services.open-control-plane.io',
    version: 'v1alpha1',
    kind: 'ExternalSecretsOperator',
    spec: z.object({ version: z.string() }),
  }),
  config: providerConfig({
    group: 'external-secrets.services.open-control-plane.io',
    version: 'v1alpha1',
    spec: z.object({
      versions: z
        .array(
          z.object({
            version: z.string(),
            chartVersion: z.string(),
            chartURL: z.string().default('oci://charts.example.org/external-secrets'),
            chartPullSecret: z.string().optional(),
            helmValues: values,
          }),
        )
        .min(1)
        .meta({ 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['version'] }),
    }),
    kcp: false,
    pollInterval: '1m',
  }),
  workloadCluster: false,
  access: { mcp: ACCESS },
  async createOrUpdate(ctx, { spec }) {
    const found = ctx.config.versions.find(({ version }) => version === spec.version);
    const data = { chart: `${found?.chartURL}:${found?.chartVersion}`, values: JSON.stringify(found?.helmValues) };
    await install(ctx.mcp.client, 'external-secrets', data);
  },
  delete: (ctx) => uninstall(ctx.mcp.client, 'external-secrets'),
});

export const externalSecrets: PublicProvider = {
  provider,
  config: {
    versions: [
      { version: '0.20.1', chartVersion: '0.20.1', helmValues: { replicaCount: 2 } },
      { version: '0.19.2', chartVersion: '0.19.2', chartURL: 'oci://mirror.example.org/external-secrets' },
    ],
    pollInterval: '1h30m',
  },
  order: { version: '0.20.1' },
  installed: { chart: 'oci://charts.example.org/external-secrets:0.20.1', values: '{"replicaCount":2}' },
  pollMs: 5_400_000,
};
