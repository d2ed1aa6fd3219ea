import { z } from 'zod';
import { providerConfig } from '../../shared/provider/provider-config.ts';
import { serviceApi } from '../../shared/provider/service-api.ts';
import { defineProvider } from '../../shared/provider/define.ts';
import type { Provider } from '../../shared/provider/provider.ts';
import type { KubeClient } from '../../shared/kube/ports.ts';
import { CONFIG_MAPS } from '../../shared/kube/resources.ts';
import type { AccessSpec } from '../../shared/model/access.ts';
import type { KubeObject } from '../../shared/model/kubernetes.ts';

/**
 * Providers with the API groups, kinds, names and ProviderConfigs of public ones. What they install is one ConfigMap that
 * tells what the ProviderConfig says about the ordered version, so that a test sees that it was understood.
 */

const ACCESS: AccessSpec = {
  permissions: [
    { rules: [{ apiGroups: [''], resources: ['configmaps'], verbs: ['get', 'create', 'patch', 'delete'] }] },
  ],
};

/** Name of the ConfigMap of a provider. */
export const installedBy = (provider: string): string => `installed-by-${provider}`;

async function install(client: KubeClient, provider: string, data: Record<string, string>): Promise<void> {
  const metadata = { name: installedBy(provider), namespace: 'default' };
  await client.apply(CONFIG_MAPS, { metadata, data } as KubeObject);
}

async function uninstall(client: KubeClient, provider: string): Promise<void> {
  await client.delete(CONFIG_MAPS, installedBy(provider), { namespace: 'default' });
}

/** A public provider, a ProviderConfig as its users have it, an order, and what that installs. */
export interface PublicProvider {
  provider: Provider;
  /** Undefined: the provider has none. */
  config: Record<string, unknown> | undefined;
  order: Record<string, unknown>;
  installed: Record<string, string>;
  /** How soon a Ready object is looked at again; undefined: not by itself. */
  pollMs: number | undefined;
}

const pollInterval = { pollInterval: z.string().meta({ format: 'duration' }).default('1m') };
const values = z.record(z.string(), z.unknown()).optional();

const flux = defineProvider({
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

const velero = defineProvider({
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

const externalSecrets = defineProvider({
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

const image = z.object({ image: z.string().min(1) }).optional();

const landscaper = defineProvider({
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

const without = defineProvider({
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

export const PUBLIC_PROVIDERS: readonly PublicProvider[] = [
  {
    provider: flux,
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
  },
  {
    provider: velero,
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
  },
  {
    provider: externalSecrets,
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
  },
  {
    provider: landscaper,
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
  },
  {
    provider: without,
    config: undefined,
    order: { version: '1' },
    installed: { version: '1', config: 'undefined' },
    pollMs: undefined,
  },
];
