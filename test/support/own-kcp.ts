import type { Provider } from '../../functions/provider.ts';
import { formatKubeconfig } from '../../shared/kube/kubeconfig.ts';
import { SECRETS } from '../../shared/kube/resources.ts';
import { workspaceUrl } from '../../shared/kube/workspace-url.ts';
import type { Secret } from '../../shared/model/access.ts';
import type { Condition, KubeObject, KubeObjectOf } from '../../shared/model/kubernetes.ts';
import { freePort } from '../control-planes/ports.ts';
import { type StartedKcp, startKcp } from '../control-planes/kcp.ts';
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

  /** Kubeconfig of its administrator. */
  adminKubeconfig(): string {
    return formatKubeconfig({ ...this.#kcp.adminCredentials, server: workspaceUrl(this.#kcp.server, 'root') });
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
