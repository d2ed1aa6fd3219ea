import type { Provider } from '../../functions/provider.ts';
import type { KubeClient } from '../../shared/kube/ports.ts';
import { CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, SECRETS } from '../../shared/kube/resources.ts';
import { workspaceUrl } from '../../shared/kube/workspace-url.ts';
import type { Secret } from '../../shared/model/access.ts';
import type { Condition, KubeObject, KubeObjectOf } from '../../shared/model/kubernetes.ts';
import { freePort } from '../control-planes/ports.ts';
import { type StartedKcp, startKcp } from '../control-planes/kcp.ts';
import { createKcpIdentity, RULES } from './kcp-identity.ts';
import type { Landscape } from './landscape.ts';
import { PROVIDER_NAMESPACE } from './service.ts';

/** A kcp beside the landscape's, which can be stopped and started while the platform goes on. */
export class OwnKcp {
  readonly #dir: string;
  readonly #port: number;
  #kcp: StartedKcp;

  private constructor(dir: string, port: number, kcp: StartedKcp) {
    this.#dir = dir;
    this.#port = port;
    this.#kcp = kcp;
  }

  static async start(dir: string): Promise<OwnKcp> {
    const port = await freePort();
    return new OwnKcp(dir, port, await startKcp({ dir, port }));
  }

  get kcp(): StartedKcp {
    return this.#kcp;
  }

  /** At the same address and with the same data. */
  async startAgain(): Promise<void> {
    this.#kcp = await startKcp({ dir: this.#dir, port: this.#port });
  }

  stop(): Promise<void> {
    return this.#kcp.stop();
  }

  /**
   * Kubeconfig of an identity that outlives a restart, which the administrator's token does not: a ServiceAccount of the
   * root workspace. It may do nothing before it is {@link admit}ted.
   */
  lastingIdentity(): Promise<string> {
    const { admin, server, adminCredentials } = this.#kcp;
    return createKcpIdentity(admin.at(workspaceUrl(server, 'root')), adminCredentials, LASTING);
  }

  /** Gives that identity in a provider workspace what the runtime needs. */
  async admit(services: KubeClient): Promise<void> {
    const name = `system:kcp:serviceaccount:root:service-provider:${LASTING}`;
    const subjects = [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name }];
    const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: LASTING };
    await services.apply(CLUSTER_ROLES, { metadata: { name: LASTING }, rules: RULES } as KubeObject);
    await services.apply(CLUSTER_ROLE_BINDINGS, { metadata: { name: LASTING }, roleRef, subjects } as KubeObject);
  }
}

const LASTING = 'lasting';

export async function writeKcpSecret({ platform }: Landscape, name: string, kubeconfig: string): Promise<void> {
  await platform.client.apply<Secret>(SECRETS, {
    metadata: { name, namespace: PROVIDER_NAMESPACE },
    data: { kubeconfig: Buffer.from(kubeconfig).toString('base64') },
  });
}

/** Offers the service in kcp with these settings; `undefined` takes it back. */
export async function configureKcp(
  { platform }: Landscape,
  provider: Provider,
  settings: { providerWorkspace: string; secret: string } | undefined,
): Promise<void> {
  const kcp = settings && {
    providerWorkspace: settings.providerWorkspace,
    kubeconfigSecret: { name: settings.secret, namespace: PROVIDER_NAMESPACE },
  };
  await platform.client.apply(provider.config.type, {
    metadata: { name: provider.name },
    spec: kcp ? { kcp } : {},
  } as KubeObject);
}

/** `type=status/reason` of the ProviderConfig's conditions. */
export async function configConditions({ platform }: Landscape, provider: Provider): Promise<string[]> {
  const config = await platform.client.get<KubeObjectOf<{ status?: { conditions?: Condition[] } }>>(
    provider.config.type,
    provider.name,
  );
  return (config?.status?.conditions ?? []).map(({ type, status, reason }) => `${type}=${status}/${reason}`);
}
