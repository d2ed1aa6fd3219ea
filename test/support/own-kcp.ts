import { randomBytes } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ConfiguredProvider } from '../../functions/provider.ts';
import { formatKubeconfig } from '../../shared/kube/kubeconfig.ts';
import type { KubeClient } from '../../shared/kube/ports.ts';
import { CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, SECRETS } from '../../shared/kube/resources.ts';
import { workspaceUrl } from '../../shared/kube/workspace-url.ts';
import type { Secret } from '../../shared/model/access.ts';
import type { Condition, KubeObject, KubeObjectOf } from '../../shared/model/kubernetes.ts';
import { freePort } from '../control-planes/ports.ts';
import { type StartedKcp, startKcp } from '../control-planes/kcp.ts';
import { RULES } from './kcp-identity.ts';
import type { Landscape } from './landscape.ts';
import { PROVIDER_NAMESPACE } from './service.ts';

/** A user whose token outlives a restart of kcp, which the administrator's does not. */
const USER = 'lasting';

/** A kcp beside the landscape's, which can be stopped and started while the platform goes on. */
export class OwnKcp {
  readonly #options: { dir: string; port: number; args: string[] };
  readonly #token: string;
  #kcp: StartedKcp;

  private constructor(options: { dir: string; port: number; args: string[] }, token: string, kcp: StartedKcp) {
    this.#options = options;
    this.#token = token;
    this.#kcp = kcp;
  }

  static async start(dir: string): Promise<OwnKcp> {
    mkdirSync(dir, { recursive: true });
    const token = randomBytes(24).toString('hex');
    const tokens = join(dir, 'tokens.csv');
    writeFileSync(tokens, `${token},${USER},${USER}\n`, { mode: 0o600 });
    const options = { dir, port: await freePort(), args: [`--token-auth-file=${tokens}`] };
    return new OwnKcp(options, token, await startKcp(options));
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
    return formatKubeconfig({ server: workspaceUrl(server, 'root'), ca: adminCredentials.ca, token: this.#token });
  }

  /** Gives that user in a provider workspace what the runtime needs. */
  async admit(services: KubeClient): Promise<void> {
    const subjects = [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: USER }];
    const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: USER };
    await services.apply(CLUSTER_ROLES, { metadata: { name: USER }, rules: RULES } as KubeObject);
    await services.apply(CLUSTER_ROLE_BINDINGS, { metadata: { name: USER }, roleRef, subjects } as KubeObject);
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

/** `type=status/reason` of the ProviderConfig's conditions. */
export async function configConditions({ platform }: Landscape, provider: ConfiguredProvider): Promise<string[]> {
  const config = await platform.client.get<KubeObjectOf<{ status?: { conditions?: Condition[] } }>>(
    provider.config.type,
    provider.name,
  );
  return (config?.status?.conditions ?? []).map(({ type, status, reason }) => `${type}=${status}/${reason}`);
}
