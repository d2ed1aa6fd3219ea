import { mkdirSync } from 'node:fs';
import type { ConfiguredProvider } from '../../shared/provider/provider.ts';
import { formatKubeconfig } from '../../shared/kube/kubeconfig.ts';
import type { KubeClient } from '../../shared/kube/ports.ts';
import { CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, SECRETS } from '../../shared/kube/resources.ts';
import { workspaceUrl } from '../../shared/kube/workspace-url.ts';
import type { Secret } from '../../shared/model/access.ts';
import type { Condition, KubeObject, KubeObjectOf } from '../../shared/model/kubernetes.ts';
import { freePort } from '../control-planes/ports.ts';
import { type Kcp, type KcpUser, type StartedKcp, startKcp } from '../control-planes/kcp.ts';
import { createKcpIdentity, RULES } from './kcp-identity.ts';
import type { Landscape } from './landscape.ts';
import { PROVIDER_NAMESPACE } from './service.ts';
import { eventually } from './wait.ts';
import { createWorkspace, type TenantWorkspace } from './workspaces.ts';

/** A kcp beside the landscape's, which can be stopped and started while the platform goes on. */
export class OwnKcp {
  readonly #options: { dir: string; port: number };
  #kcp: StartedKcp;

  private constructor(options: { dir: string; port: number }, kcp: StartedKcp) {
    this.#options = options;
    this.#kcp = kcp;
  }

  static async start(dir: string): Promise<OwnKcp> {
    mkdirSync(dir, { recursive: true });
    const options = { dir, port: await freePort() };
    return new OwnKcp(options, await startKcp(options));
  }

  get kcp(): StartedKcp {
    return this.#kcp;
  }

  /** At the same address and with the same data. */
  async startAgain(): Promise<void> {
    this.#kcp = await startKcp(this.#options);
  }

  stop(): Promise<void> {
    return this.#kcp.stop();
  }

  /** Kubeconfig of a user who may do nothing before he is {@link admit}ted. */
  lastingIdentity(): string {
    const { server, adminCredentials } = this.#kcp;
    const { token } = this.#lasting();
    return formatKubeconfig({ server: workspaceUrl(server, 'root'), ca: adminCredentials.ca, token });
  }

  /** Gives that user in a provider workspace what the runtime needs. */
  async admit(services: KubeClient): Promise<void> {
    const { name } = this.#lasting();
    const subjects = [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name }];
    const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name };
    await services.apply(CLUSTER_ROLES, { metadata: { name }, rules: RULES } as KubeObject);
    await services.apply(CLUSTER_ROLE_BINDINGS, { metadata: { name }, roleRef, subjects } as KubeObject);
  }

  /** The last: `createKcpIdentity` begins with the first. */
  #lasting(): KcpUser {
    const user = this.#kcp.users.at(-1);
    if (!user) throw new Error('this kcp was started without users');
    return user;
  }
}

export async function writeKcpSecret({ platform }: Landscape, name: string, kubeconfig: string): Promise<void> {
  await platform.client.apply<Secret>(SECRETS, {
    metadata: { name, namespace: PROVIDER_NAMESPACE },
    data: { kubeconfig: Buffer.from(kubeconfig).toString('base64') },
  });
}

/** Offers the service in kcp with these settings; `undefined` takes it back. */
export async function configureKcp(
  { platform }: Landscape,
  provider: ConfiguredProvider,
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

/** Offers the service in a new workspace of another kcp, which is returned, with an identity of its own for the runtime. */
export async function offerIn(
  kcp: Kcp,
  landscape: Landscape,
  provider: ConfiguredProvider,
  name: string,
): Promise<TenantWorkspace> {
  const services = await createWorkspace(kcp.admin, 'root', name);
  await writeKcpSecret(landscape, name, await createKcpIdentity(services.client, kcp, 'runtime'));
  await configureKcp(landscape, provider, { providerWorkspace: services.path, secret: name });
  return services;
}

/** `type=status/reason` of the ProviderConfig's conditions. */
export async function configConditions({ platform }: Landscape, provider: ConfiguredProvider): Promise<string[]> {
  const config = await platform.client.get<KubeObjectOf<{ status?: { conditions?: Condition[] } }>>(
    provider.config.type,
    provider.name,
  );
  return (config?.status?.conditions ?? []).map(({ type, status, reason }) => `${type}=${status}/${reason}`);
}

export function untilConfigSays(landscape: Landscape, provider: ConfiguredProvider, wanted: string): Promise<true> {
  return eventually(`the ProviderConfig says ${wanted}`, async (seen) => {
    const all = await configConditions(landscape, provider);
    seen(all);
    return all.includes(wanted);
  });
}
