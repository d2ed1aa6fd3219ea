import { join } from 'node:path';
import foo from '../../functions/providers/foo/provider.ts';
import { clientFor } from '../../shared/kube/connect.ts';
import type { HttpKubeClient } from '../../shared/kube/client.ts';
import { kubeconfigFromSecret, parseKubeconfig } from '../../shared/kube/kubeconfig.ts';
import { ACCESS_REQUESTS, LEASES, SECRETS, SERVICE_PROVIDERS } from '../../shared/kube/resources.ts';
import type { AccessRequest, Secret } from '../../shared/model/access.ts';
import type { KubeObject, KubeObjectOf } from '../../shared/model/kubernetes.ts';
import type { Kcp } from '../control-planes/kcp.ts';
import { startKubeApiserver } from '../control-planes/kube-apiserver.ts';
import { freePort } from '../control-planes/ports.ts';
import { startRedis } from '../control-planes/redis.ts';
import { type JOBS, type Pod, type PodOwner, podOf } from './deployed-provider.ts';
import { FOO_IN_IMAGE } from './image.ts';
import { createLandscape, type Landscape } from './landscape.ts';
import { SYSTEM_NAMESPACE } from './landscape-options.ts';
import { eventually } from './wait.ts';

const LEASE = 'foo-standard';

type ServiceProvider = KubeObjectOf<{ status?: { phase?: string; resources?: object[] } }>;
type Lease = KubeObjectOf<{ spec: { holderIdentity?: string } }>;

/** Foo as a ServiceProvider that openmcp-operator deploys, on API servers that know Jobs and Deployments. */
export interface DeployedFoo {
  readonly landscape: Landscape;
  /** As the ServiceProvider asks for. */
  readonly metricsPort: number;
  serviceProvider(): Promise<ServiceProvider | undefined>;
  /** A Job or Deployment, as soon as the operator has written it. */
  written(type: typeof JOBS, name: string): Promise<PodOwner>;
  podOf(owner: PodOwner, name: string): Promise<Pod>;
  /** The access to the onboarding cluster that `init` or `run` has ordered. */
  accessOf(use: 'init' | 'run'): Promise<{ request: AccessRequest; client: HttpKubeClient }>;
  /** Name of the pod that leads; empty when none does. */
  holder(): Promise<string>;
  stop(): Promise<void>;
}

export async function deployFoo(runFolder: string, kcp: Kcp): Promise<DeployedFoo> {
  await using started = new AsyncDisposableStack();
  const dir = join(runFolder, 'operator-contract');
  const start = async (name: string) => {
    const server = await startKubeApiserver({ dir: join(dir, name) });
    started.defer(() => server.stop());
    return server;
  };
  const apiservers = { platform: await start('platform'), onboarding: await start('onboarding') };
  const landscape = await createLandscape({ kcp, dir: runFolder, apiservers, deployments: true });
  started.defer(() => landscape.stop());
  const redis = await startRedis({ dir: join(dir, 'redis') });
  started.defer(() => redis.stop());
  const metricsPort = await freePort();
  const platform = apiservers.platform.admin;
  await platform.create(SERVICE_PROVIDERS, {
    metadata: { name: foo.name },
    spec: {
      image: 'example.org/service-provider-foo:v1',
      verbosity: 'DEBUG',
      runReplicas: 2,
      metrics: { port: metricsPort },
      env: [
        { name: 'REDIS_URL', value: redis.url },
        { name: 'SERVICE_PROVIDER_MODULE', value: FOO_IN_IMAGE },
        { name: 'LEASE_DURATION', value: '3s' },
        { name: 'JOB_LOCK_DURATION', value: '2s' },
      ],
    },
  } as KubeObject);
  const running = started.move();
  return {
    landscape,
    metricsPort,
    serviceProvider: () => platform.get<ServiceProvider>(SERVICE_PROVIDERS, foo.name),
    written: (type, name) =>
      eventually(`the operator has written ${type.kind} ${name}`, () =>
        platform.get<PodOwner>(type, name, SYSTEM_NAMESPACE),
      ),
    podOf: (owner, name) => podOf(owner, name, apiservers.platform, landscape.dir),
    async accessOf(use) {
      const name = `foo--onboarding-${use}`;
      const request = await platform.get<AccessRequest>(ACCESS_REQUESTS, name, SYSTEM_NAMESPACE);
      if (!request) throw new Error(`there is no AccessRequest ${name}`);
      const secret = await platform.get<Secret>(SECRETS, request.status?.secretRef?.name ?? '', SYSTEM_NAMESPACE);
      return { request, client: clientFor(parseKubeconfig(kubeconfigFromSecret(secret as Secret, name), name)) };
    },
    async holder() {
      const lease = await platform.get<Lease>(LEASES, LEASE, SYSTEM_NAMESPACE);
      return lease?.spec.holderIdentity?.split('_')[0] ?? '';
    },
    stop: () => running.disposeAsync(),
  };
}
