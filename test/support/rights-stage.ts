import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import foo from '../../functions/providers/foo/provider.ts';
import type { HttpKubeClient } from '../../shared/kube/client.ts';
import { type ClusterCredentials, formatKubeconfig } from '../../shared/kube/kubeconfig.ts';
import { NAMESPACES } from '../../shared/kube/resources.ts';
import { auditIn } from '../control-planes/audit.ts';
import { startKcp } from '../control-planes/kcp.ts';
import { type KubeApiserver, startKubeApiserver } from '../control-planes/kube-apiserver.ts';
import { freePort } from '../control-planes/ports.ts';
import { startRedis } from '../control-planes/redis.ts';
import { issueToken } from './cluster-provider/access.ts';
import { createLandscape, type Landscape } from './landscape.ts';
import { type Manifest, typeOf } from './manifests.ts';
import { ordersIn, type Orders } from './orders.ts';
import { type Use, usesIn } from './rights.ts';
import { type ServiceProcess, startServiceProcess } from './service-process.ts';
import { PROJECT, QUICK_ENV } from './stage.ts';

/** Neither server says by a watch what was there before: where one does not, lists are needed. */
const LISTS = '--feature-gates=WatchList=false';

/**
 * A landscape that writes down what is asked of its platform cluster and of its kcp. Processes run there with the rights
 * of the ServiceAccounts that manifests give them, and with a provider that asks for all that it can.
 */
export class RightsStage implements AsyncDisposable {
  readonly landscape: Landscape;
  readonly server: KubeApiserver;
  readonly redisUrl: string;
  readonly orders: Orders;
  readonly #stack: AsyncDisposableStack;
  readonly #namespace: string;
  readonly #kcpAuditLog: string;
  #processes: ServiceProcess[] = [];

  private constructor(
    stack: AsyncDisposableStack,
    namespace: string,
    parts: { landscape: Landscape; server: KubeApiserver; redisUrl: string; kcpAuditLog: string },
  ) {
    this.#stack = stack;
    this.#namespace = namespace;
    this.landscape = parts.landscape;
    this.server = parts.server;
    this.redisUrl = parts.redisUrl;
    this.#kcpAuditLog = parts.kcpAuditLog;
    this.orders = ordersIn(parts.landscape.onboarding.client, foo.api.type, PROJECT);
  }

  /** @param manifests of which the roles and ServiceAccounts are applied */
  static async create(dir: string, namespace: string, manifests: readonly Manifest[]): Promise<RightsStage> {
    await using started = new AsyncDisposableStack();
    const start = async (name: string): Promise<KubeApiserver> => {
      // The namespace of a workspace goes before the next object of it is served.
      const controllerManager = name === 'platform';
      const server = await startKubeApiserver({ dir: join(dir, name), audit: true, args: [LISTS], controllerManager });
      started.defer(() => server.stop());
      return server;
    };
    const apiservers = { platform: await start('platform'), onboarding: await start('onboarding') };
    const audit = auditIn(join(dir, 'kcp'));
    const kcp = await startKcp({ dir: join(dir, 'kcp'), args: [...audit.args, LISTS] });
    started.defer(() => kcp.stop());
    const landscape = await createLandscape({ kcp, dir, apiservers });
    started.defer(() => landscape.stop());
    const redis = await startRedis({ dir: join(dir, 'redis') });
    started.defer(() => redis.stop());
    const platform = apiservers.platform.admin;
    await platform.apply(NAMESPACES, { metadata: { name: namespace } });
    for (const manifest of manifests.filter(({ kind }) => /Role|ServiceAccount/.test(kind)))
      await platform.apply(typeOf(manifest), manifest);
    const parts = { landscape, server: apiservers.platform, redisUrl: redis.url, kcpAuditLog: audit.log };
    return new RightsStage(started.move(), namespace, parts);
  }

  get platform(): HttpKubeClient {
    return this.server.admin;
  }

  async credentialsOf(account: string): Promise<ClusterCredentials> {
    const { server, ca } = this.server.adminCredentials;
    const { token } = await issueToken(this.platform, this.#namespace, account, 3_600);
    return { server, ca, token };
  }

  async envOf(account: string): Promise<Record<string, string>> {
    const file = join(this.landscape.dir, `${account}.kubeconfig`);
    writeFileSync(file, formatKubeconfig(await this.credentialsOf(account)), { mode: 0o600 });
    return { KUBECONFIG: file, POD_NAMESPACE: this.#namespace };
  }

  /**
   * Starts the pods of Deployments, each with its arguments and the rights of its ServiceAccount.
   * @returns where they show their metrics
   */
  async start(deployments: readonly Manifest[], provider: string, env: Record<string, string> = {}): Promise<string[]> {
    const addresses = await Promise.all(deployments.map(async () => `127.0.0.1:${await freePort()}`));
    this.#processes = await Promise.all(
      (deployments as Workload[]).map(async ({ spec: { template } }, index) => {
        const { serviceAccountName, containers } = template.spec;
        return startServiceProcess({
          args: [...(containers[0]?.args ?? []), `--metrics-bind-address=${addresses[index]}`],
          dir: this.landscape.dir,
          provider,
          env: { ...(await this.envOf(serviceAccountName)), ...QUICK_ENV, REDIS_URL: this.redisUrl, ...env },
        });
      }),
    );
    return addresses;
  }

  async stop(): Promise<void> {
    await Promise.all(this.#processes.map((process) => process.stop()));
    this.#processes = [];
  }

  /** What ServiceAccounts of the namespace asked of the platform cluster. */
  uses(): Use[] {
    return usesIn(this.server.auditLog, { namespace: this.#namespace });
  }

  /** What the runtime's identity asked of the provider workspace, under the name that manifests have for it. */
  usesInKcp(name: string): Use[] {
    const uses = this.landscape.kcp.users.flatMap((user) => usesIn(this.#kcpAuditLog, { user: user.name }));
    return uses.map((use) => ({ ...use, who: name }));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
    await this.#stack.disposeAsync();
  }
}

type Workload = Manifest & {
  spec: { template: { spec: { serviceAccountName: string; containers: { args: string[] }[] } } };
};
