import { join } from 'node:path';
import { Redis } from 'ioredis';
import foo from '../../functions/providers/foo/provider.ts';
import type { HttpKubeClient } from '../../shared/kube/client.ts';
import {
  ACCESS_REQUESTS,
  CLUSTER_REQUESTS,
  CLUSTERS,
  CONFIG_MAPS,
  EVENTS,
  SECRETS,
} from '../../shared/kube/resources.ts';
import type { Secret } from '../../shared/model/access.ts';
import type { ServiceObject } from '../../shared/model/kubernetes.ts';
import { conditionOf } from '../../shared/status.ts';
import { freePort } from '../control-planes/ports.ts';
import type { ControlPlane } from './control-plane.ts';
import type { History } from './history.ts';
import { KcpTenants } from './kcp-tenants.ts';
import { accountToken, letReadMetrics, readiness } from './metrics-client.ts';
import type { Orders } from './orders.ts';
import { RESOLVED } from './providers/leaky-foo.ts';
import {
  type Credential,
  credentialsIn,
  recordTraffic,
  type Text,
  textsAt,
  textsInClusters,
  textsInFiles,
  textsInRedis,
} from './secret-scan.ts';
import { PROVIDER_NAMESPACE } from './service.ts';
import { LEAKY_MODULE, type ServiceProcess, startServiceProcess } from './service-process.ts';
import { createStage, PROJECT, type Stage } from './stage.ts';
import type { TenantWorkspace } from './workspaces.ts';

const FOOS = foo.api.type;

/** A provider whose author is careless serves both modes, and all that anybody could read of it is collected. */
export class LeakyStage {
  readonly stage: Stage;
  readonly redis: Redis;
  readonly service: ServiceProcess;
  readonly controlPlane: ControlPlane;
  readonly tenants: KcpTenants;
  readonly tenant: TenantWorkspace;
  readonly logFile: string;
  /** Every command that Redis was sent, with its arguments. */
  readonly traffic: Awaited<ReturnType<typeof recordTraffic>>;
  /** Token of somebody who may read metrics. */
  readonly reader: string;
  /** Every Secret that there ever was while the test ran. */
  readonly #secrets: History;
  readonly #metricsUrl: string;

  private constructor(parts: LeakyParts, secrets: History, metricsUrl: string) {
    this.stage = parts.stage;
    this.redis = parts.redis;
    this.service = parts.service;
    this.controlPlane = parts.controlPlane;
    this.tenants = parts.tenants;
    this.tenant = parts.tenant;
    this.logFile = parts.logFile;
    this.traffic = parts.traffic;
    this.reader = parts.reader;
    this.#secrets = secrets;
    this.#metricsUrl = metricsUrl;
  }

  /** @param name of the control plane of standard mode */
  static async start(name: string): Promise<LeakyStage> {
    const stage = await createStage({ provider: foo, kcp: true });
    const { landscape } = stage;
    const tenants = new KcpTenants(stage);
    const platform = landscape.platform.client;
    const redis = new Redis(stage.redis.url, { replyMapping: 'legacy' });
    const logFile = join(landscape.dir, 'service.log');
    const traffic = await recordTraffic(stage.redis.port);
    const metrics = `127.0.0.1:${await freePort()}`;
    const [controlPlane, tenant, service] = await Promise.all([
      landscape.createControlPlane(PROJECT, name),
      landscape.createTenantWorkspace('tenant'),
      startServiceProcess({
        args: ['run', `--metrics-bind-address=${metrics}`, '--metrics-secure=false'],
        dir: landscape.dir,
        provider: LEAKY_MODULE,
        verbosity: 'trace',
        env: { ...stage.env, LOG_FILE: logFile, LEASE_DURATION: '3s' },
      }),
    ]);
    const secrets = await stage.record(...[platform, tenant.client].map((client) => ({ client, types: [SECRETS] })));
    await tenants.bind(tenant);
    const reader = await accountToken(platform, 'reader');
    await letReadMetrics(platform, 'reader');
    const parts = { stage, redis, service, controlPlane, tenants, tenant, logFile, traffic, reader };
    return new LeakyStage(parts, secrets, `http://${metrics}/metrics`);
  }

  async stop(): Promise<void> {
    await this.service.stop();
    this.traffic.stop();
    this.redis.disconnect();
    await this.stage.stop();
  }

  get platform(): HttpKubeClient {
    return this.stage.landscape.platform.client;
  }

  ordersOf(mode: string): Orders {
    return mode === 'kcp' ? this.tenants.orders(this.tenant) : this.stage.orders;
  }

  /** The object once it says so about that generation. */
  untilSaid(mode: string, name: string, reason: string, generation: number): Promise<ServiceObject> {
    return this.ordersOf(mode).until(
      name,
      reason,
      ({ status, ...object }) =>
        status?.observedGeneration === generation && conditionOf({ ...object, status }, 'Ready')?.reason === reason,
    );
  }

  /** Every credential that somebody was given, and those of the administrators. */
  credentials(): Credential[] {
    const { kcp } = this.stage.landscape;
    const administrator = { name: 'administrator', value: kcp.adminCredentials.token ?? '' };
    return [administrator, ...this.#secrets.of<Secret>(SECRETS).flatMap(({ object }) => credentialsIn(object))];
  }

  /** What tenants may not read of the platform and of kcp. */
  internals(mode: string): Credential[] {
    const namespace = mode === 'kcp' ? this.tenants.namespaceOf(this.tenant) : this.controlPlane.platformNamespace;
    return [
      { name: 'address of kcp', value: new URL(this.stage.landscape.kcp.server).host },
      { name: 'resolved address', value: RESOLVED },
      { name: 'account', value: 'system:serviceaccount:' },
      { name: 'tenant namespace', value: namespace },
      { name: 'namespace of the provider', value: `${PROVIDER_NAMESPACE}/` },
    ];
  }

  /** Where tenants read. */
  async tenantsTexts(mode: string): Promise<Text[]> {
    const { client } = mode === 'kcp' ? this.tenant : this.stage.landscape.onboarding;
    const { items } = await client.list<ServiceObject>(FOOS);
    const { readyUrl } = this.service;
    return [
      ...items.map(({ metadata, status }) => ({
        place: `status of ${metadata.name}`,
        text: JSON.stringify(status ?? {}),
      })),
      ...(await textsInClusters([client, this.controlPlane.client], [EVENTS])),
      ...(await textsAt(readyUrl, readyUrl.replace('readyz', 'healthz'))),
    ];
  }

  /** Wherever credentials do not belong. */
  async everyText(): Promise<Text[]> {
    const { onboarding, services } = this.stage.landscape;
    const { readyUrl, logFile } = this.service;
    return [
      ...(await textsAt(readyUrl, this.#metricsUrl)),
      { place: 'details of readiness', text: (await readiness(readyUrl, this.reader)).text },
      ...(await textsInRedis(this.redis)),
      { place: 'what Redis was sent', text: this.traffic.text() },
      ...textsInFiles(logFile, this.logFile),
      ...(await textsInClusters(
        [this.platform, ...[onboarding, services, this.tenant, this.controlPlane].map(({ client }) => client)],
        [FOOS, foo.config.type, ACCESS_REQUESTS, CLUSTER_REQUESTS, CLUSTERS, CONFIG_MAPS, EVENTS],
      )),
    ];
  }
}

type LeakyParts = Pick<
  LeakyStage,
  'stage' | 'redis' | 'service' | 'controlPlane' | 'tenants' | 'tenant' | 'logFile' | 'traffic' | 'reader'
>;
