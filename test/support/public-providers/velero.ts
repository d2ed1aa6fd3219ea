import { z } from 'zod';
import { providerConfig } from '../../../shared/provider/provider-config.ts';
import { serviceApi } from '../../../shared/provider/service-api.ts';
import { defineProvider } from '../../../shared/provider/define.ts';
import { ACCESS, install, type PublicProvider, pollInterval, uninstall } from './public-provider.ts';

const provider = defineProvider({
  name: 'velero',
  api: serviceApi({
    group: 'velero.services.open-control-plane.io',
    version: 'v1alpha1',
    kind: 'Velero',
    spec: z.object({
      version: z.string(),
      plugins: z.array(z.object({ name: z.string(), version: z.string() })).default([]),
    }),
  }),
  config: providerConfig({
    group: 'velero.services.open-control-plane.io',
    version: 'v1alpha1',
    spec: z.object({
      ...pollInterval,
      imagePullSecrets: z.array(z.object({ name: z.string() })).optional(),
      availableImages: z.array(z.object({ name: z.string(), versions: z.array(z.string()), image: z.string() })),
    }),
    kcp: false,
  }),
  workloadCluster: true,
  access: { mcp: ACCESS, workload: ACCESS },
  async createOrUpdate(ctx, { spec }) {
    const image = (name: string, version: string) =>
      `${ctx.config.availableImages.find((one) => one.name === name && one.versions.includes(version))?.image}:${version}`;
    const images = [image('velero', spec.version), ...spec.plugins.map(({ name, version }) => image(name, version))];
    await install(ctx.mcp.client, 'velero', { images: images.join() });
  },
  delete: (ctx) => uninstall(ctx.mcp.client, 'velero'),
});

export const velero: PublicProvider = {
  provider,
  config: {
    pollInterval: '1m',
    availableImages: [
      { name: 'velero', versions: ['v1.17.1'], image: 'velero/velero' },
      { name: 'aws', versions: ['v1.13.0'], image: 'velero/velero-plugin-for-aws' },
    ],
    imagePullSecrets: [{ name: 'privateregcred' }],
  },
  order: { version: 'v1.17.1', plugins: [{ name: 'aws', version: 'v1.13.0' }] },
  installed: { images: 'velero/velero:v1.17.1,velero/velero-plugin-for-aws:v1.13.0' },
  pollMs: 60_000,
};
