import { clientFor } from '../../shared/kube/connect.ts';
import type { HttpKubeClient } from '../../shared/kube/client.ts';
import { kubeconfigFromSecret, parseKubeconfig } from '../../shared/kube/kubeconfig.ts';
import {
  API_BINDINGS,
  CLUSTER_ROLE_BINDINGS,
  CLUSTER_ROLES,
  NAMESPACES,
  ROLE_BINDINGS,
  SECRETS,
  SERVICE_ACCOUNTS,
} from '../../shared/kube/resources.ts';
import type { Secret } from '../../shared/model/access.ts';
import type { KubeObject, ResourceType } from '../../shared/model/kubernetes.ts';
import type { ObjectKey } from '../../shared/model/object-key.ts';
import type { ServiceObject } from '../../shared/model/kubernetes.ts';
import { RUNTIME_LABEL, workspaceNamespace } from '../../shared/names.ts';
import { answerClaims, bindExport, type BindOptions } from './bindings.ts';
import { type Orders, ordersIn } from './orders.ts';
import { requestsIn } from './requests.ts';
import type { Stage } from './stage.ts';
import { eventually } from './wait.ts';
import type { TenantWorkspace } from './workspaces.ts';

/** The kinds of objects that the runtime makes in a workspace; all carry its label. */
export const MADE: readonly ResourceType[] = [
  SERVICE_ACCOUNTS,
  CLUSTER_ROLES,
  CLUSTER_ROLE_BINDINGS,
  ROLE_BINDINGS,
  SECRETS,
];

/** What a test does with tenants in kcp workspaces. */
export class KcpTenants {
  readonly #stage: Stage;
  readonly exportName: string;

  constructor(stage: Stage) {
    this.#stage = stage;
    this.exportName = stage.provider.kcp?.exportName ?? '';
  }

  get platform(): HttpKubeClient {
    return this.#stage.landscape.platform.client;
  }

  /** A workspace that binds the export. */
  async bound(name: string, options?: BindOptions): Promise<TenantWorkspace> {
    const workspace = await this.#stage.landscape.createTenantWorkspace(name);
    await this.bind(workspace, options);
    return workspace;
  }

  /**
   * Binds the export in a workspace, as soon as it is there.
   * @param services the workspace that has the export
   */
  async bind(
    workspace: TenantWorkspace,
    options?: BindOptions,
    services: TenantWorkspace = this.#stage.landscape.services,
  ): Promise<void> {
    await bindExport(workspace.client, services, this.exportName, options);
  }

  /** Has a tenant accept or reject the claims of his binding. */
  answerClaims({ client }: TenantWorkspace, answer: Parameters<typeof answerClaims>[2]): Promise<void> {
    return answerClaims(client, this.exportName, answer);
  }

  /** The binding of a workspace, in the tenant's eyes. */
  async bindingOf({ client }: TenantWorkspace): Promise<KubeObject | undefined> {
    return client.get(API_BINDINGS, this.exportName);
  }

  async unbind({ client }: TenantWorkspace): Promise<void> {
    await client.delete(API_BINDINGS, this.exportName);
  }

  orders({ client }: TenantWorkspace, namespace = 'default'): Orders {
    return ordersIn(client, this.#stage.provider.api.type, namespace);
  }

  keyOf(workspace: TenantWorkspace, { metadata: { namespace = '', name, uid = '' } }: ServiceObject): ObjectKey {
    return {
      provider: this.#stage.provider.name,
      mode: 'kcp',
      cluster: workspace.logicalCluster,
      namespace,
      name,
      uid,
    };
  }

  /** The tenant's namespace on the platform. */
  namespaceOf({ logicalCluster }: TenantWorkspace): string {
    return workspaceNamespace(this.#stage.provider.name, logicalCluster);
  }

  /** The kubeconfig Secret of a workspace. */
  async secretOf(workspace: TenantWorkspace): Promise<Secret | undefined> {
    const name = `${this.#stage.provider.controllerName}--workspace--mcp`;
    return this.platform.get<Secret>(SECRETS, name, this.namespaceOf(workspace));
  }

  /** What a workload can do with the kubeconfig that it was given. */
  async accessOf(workspace: TenantWorkspace): Promise<HttpKubeClient> {
    const secret = await this.secretOf(workspace);
    if (!secret) throw new Error(`no kubeconfig Secret for ${workspace.path}`);
    return clientFor(parseKubeconfig(kubeconfigFromSecret(secret, 'test'), 'test'));
  }

  /** The workload cluster of an object. */
  workloadCluster(workspace: TenantWorkspace, name: string): Promise<HttpKubeClient> {
    const request = `${this.#stage.provider.controllerName}--${name}--wl`;
    return this.#stage.landscape.clusterOfRequest(this.namespaceOf(workspace), request);
  }

  /** What the runtime has in a workspace. */
  async madeIn({ client }: TenantWorkspace): Promise<string[]> {
    const lists = await Promise.all(MADE.map((type) => client.list(type, { labelSelector: RUNTIME_LABEL })));
    return lists.flatMap(({ items }, index) => items.map(({ metadata }) => `${MADE[index]?.kind} ${metadata.name}`));
  }

  /** Waits until nothing of a workspace is left on the platform. */
  async untilPlatformIsClean(workspace: TenantWorkspace): Promise<void> {
    await eventually('nothing is left on the platform', async (seen) => {
      seen(await requestsIn(this.platform, this.namespaceOf(workspace), ''));
      return (await this.platform.get(NAMESPACES, this.namespaceOf(workspace))) === undefined;
    });
  }
}
