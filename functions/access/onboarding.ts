import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { RuntimeError } from '../../shared/errors.ts';
import { clientForRotating } from '../../shared/kube/connect.ts';
import { createOrGet } from '../../shared/kube/create.ts';
import type { HttpKubeClient } from '../../shared/kube/client.ts';
import { type ClusterCredentials, kubeconfigFromSecret, parseKubeconfig } from '../../shared/kube/kubeconfig.ts';
import type { KubeClient } from '../../shared/kube/ports.ts';
import { ACCESS_REQUESTS, CLUSTER_REQUESTS, SECRETS } from '../../shared/kube/resources.ts';
import type { AccessRequest, AccessSpec, ClusterRequest, PolicyRule, Secret } from '../../shared/model/access.ts';
import { mergePatchOf } from '../../shared/model/json.ts';
import { MANAGED_BY_LABEL, requestName, shortenName } from '../../shared/names.ts';
import { localAddresses } from './decide-local-access.ts';
import type { Provider } from '../../shared/provider/provider.ts';
import { ONBOARDING_POLL_MS } from '../tuning.ts';

/** `init` installs types; `run` serves objects. Each has a request of its own with the rights that it needs. */
export type OnboardingUse = 'init' | 'run';

/** What the runtime itself needs on the onboarding cluster, and what the provider wants besides. */
export function onboardingAccess({ api, onboarding }: Provider, use: OnboardingUse): AccessSpec {
  const { group, plural } = api.type;
  const rules: Record<OnboardingUse, PolicyRule[]> = {
    init: [
      {
        apiGroups: ['apiextensions.k8s.io'],
        resources: ['customresourcedefinitions'],
        verbs: ['get', 'list', 'watch', 'create', 'update', 'patch'],
      },
    ],
    run: [
      { apiGroups: [group], resources: [plural], verbs: ['get', 'list', 'watch', 'update', 'patch'] },
      { apiGroups: [group], resources: [`${plural}/status`], verbs: ['get', 'update', 'patch'] },
      { apiGroups: [group], resources: [`${plural}/finalizers`], verbs: ['update'] },
    ],
  };
  return { permissions: [{ rules: rules[use] }, ...(onboarding[use] ?? [])] };
}

/** `<onboardingControllerName>--onboarding-init` or `…-run`, as in the template of Go providers. */
export function onboardingRequestName(
  provider: Pick<Provider, 'onboardingControllerName'>,
  use: OnboardingUse,
): string {
  return requestName(provider.onboardingControllerName, `onboarding-${use}`, '');
}

/**
 * Orders access to the onboarding cluster through the platform cluster, waits until it is granted, and follows it: when
 * the token in its Secret is rotated, when it is granted anew (another Secret, server or authority), and when it is taken
 * away, in which case it is ordered again. Names and labels are those of `clusteraccess.Manager` of the Go library.
 * @param namespace the provider's own namespace on the platform cluster
 * @param localAccess for debugging: take the cluster's address from the request's annotation, where it has one
 */
export async function orderOnboardingAccess(
  platform: KubeClient,
  provider: Provider,
  use: OnboardingUse,
  namespace: string,
  log: Logger,
  signal: AbortSignal,
  localAccess = false,
): Promise<HttpKubeClient> {
  const name = onboardingRequestName(provider, use);
  const labels = { [MANAGED_BY_LABEL]: shortenName(provider.onboardingControllerName) };
  const metadata = { name, namespace, labels };
  const token = onboardingAccess(provider, use);
  const order = async (): Promise<{ secret: string; address: string | undefined } | undefined> => {
    // Several processes of a provider start at once, and each of them orders.
    const cluster =
      (await platform.get<ClusterRequest>(CLUSTER_REQUESTS, name, namespace)) ??
      (await createOrGet<ClusterRequest>(platform, CLUSTER_REQUESTS, { metadata, spec: { purpose: 'onboarding' } }));
    if (!cluster) return undefined;
    if (cluster.status?.phase === 'Denied')
      throw new RuntimeError('NOT_READY', `ClusterRequest ${namespace}/${name} was denied`);
    if (cluster.status?.phase !== 'Granted') return undefined;
    let access =
      (await platform.get<AccessRequest>(ACCESS_REQUESTS, name, namespace)) ??
      (await createOrGet<AccessRequest>(platform, ACCESS_REQUESTS, {
        metadata,
        spec: { requestRef: { name, namespace }, token },
      }));
    if (!access) return undefined;
    const patch = mergePatchOf(access.spec.token, token);
    if (patch) access = await platform.mergePatch(ACCESS_REQUESTS, name, { spec: { token: patch } }, { namespace });
    const { status } = access;
    const current = status?.observedGeneration === access.metadata.generation;
    if (status?.phase === 'Denied' && current)
      throw new RuntimeError('NOT_READY', `AccessRequest ${namespace}/${name} was denied`);
    if (status?.phase !== 'Granted' || !current || !status.secretRef) return undefined;
    const local = localAccess ? localAddresses(access.metadata.annotations, [], false) : undefined;
    return { secret: status.secretRef.name, address: local?.client };
  };
  const request = `${namespace}/${name}`;
  let told = false;
  const read = async (): Promise<ClusterCredentials | undefined> => {
    const granted = await order();
    if (granted) {
      told = false;
      const credentials = await readCredentials(platform, granted.secret, namespace);
      return granted.address === undefined ? credentials : { ...credentials, server: granted.address };
    }
    if (!told) log.info({ request }, 'waiting for access to the onboarding cluster');
    told = true;
    return undefined;
  };
  let first = await read();
  for (; !first; first = await read()) await sleep(ONBOARDING_POLL_MS, undefined, { signal });
  const begin = first;
  let begun = false;
  return clientForRotating(async () => {
    const credentials = begun ? await read() : begin;
    begun = true;
    if (!credentials) throw new RuntimeError('NOT_READY', `AccessRequest ${request} is not granted any more`);
    return credentials;
  });
}

async function readCredentials(platform: KubeClient, name: string, namespace: string): Promise<ClusterCredentials> {
  const where = `${namespace}/${name}`;
  const secret = await platform.get<Secret>(SECRETS, name, namespace);
  if (!secret) throw new RuntimeError('NOT_READY', `Secret ${where} does not exist`);
  return parseKubeconfig(kubeconfigFromSecret(secret, where), `Secret ${where}`);
}
