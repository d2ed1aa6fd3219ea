import { RuntimeError } from '../../shared/errors.ts';
import { HttpKubeClient } from '../../shared/kube/client.ts';
import {
  type ClusterCredentials,
  formatKubeconfig,
  kubeconfigFromSecret,
  parseKubeconfig,
} from '../../shared/kube/kubeconfig.ts';
import { SECRETS } from '../../shared/kube/resources.ts';
import type { Secret } from '../../shared/model/access.ts';
import { equal } from '../../shared/model/json.ts';
import { keepSecret } from '../../shared/redact.ts';
import type { Cluster } from '../../shared/provider/context.ts';
import type { Run } from '../step/run.ts';
import type { LocalAddresses } from './decide-local-access.ts';
import type { SecretReference } from '../step/verdict.ts';

/**
 * A cluster for the provider's hands, from the kubeconfig Secret as it is now: a rotated credential is used from the
 * next run on, and within a run after the first answer that the old one is not known any more.
 * @param guard what stops the client; stricter than the run's own, since it also ends with `ctx.signal`
 * @param what it is to tenants, who don't get to read its address
 * @param limitMs how long a request may take, where that is less than usual
 */
export async function openCluster(
  run: Run,
  { forPeople, ...secret }: SecretReference,
  guard: () => void,
  what: string,
  local?: LocalAddresses,
  limitMs?: number,
): Promise<Cluster> {
  const kubeconfig = await readKubeconfig(run, secret);
  if (forPeople) return { client: refusing(secret), kubeconfig, secretRef: secret };
  const open = (text: string): ClusterCredentials => {
    const found = credentialsIn(run, secret, text, local);
    // The platform cluster may serve as another one as well, and keeps its name.
    if (!run.internal.servers.has(found.server)) run.internal.servers.set(found.server, what);
    return found;
  };
  const credentials = open(kubeconfig);
  const renewed = async () => {
    const now = open(await readKubeconfig(run, secret));
    return equal(now, credentials) ? undefined : run.clients.clientFor(now);
  };
  const client = run.clients.clientFor(credentials).renewable(renewed).fenced(guard, run.signal);
  return {
    client: limitMs === undefined ? client : client.within(limitMs),
    kubeconfig: local?.embedded ? formatKubeconfig({ ...credentials, server: local.embedded }) : kubeconfig,
    secretRef: secret,
  };
}

async function readKubeconfig(run: Run, { name, namespace, key }: SecretReference): Promise<string> {
  const found = await run.platform.get<Secret>(SECRETS, name, namespace);
  if (!found) throw new RuntimeError('NOT_READY', `Secret ${namespace}/${name} of the granted access does not exist`);
  return kubeconfigFromSecret(found, `${namespace}/${name}`, key);
}

function credentialsIn(
  run: Run,
  { name, namespace }: SecretReference,
  kubeconfig: string,
  local: LocalAddresses | undefined,
): ClusterCredentials {
  const credentials = parseKubeconfig(kubeconfig, `${namespace}/${name}`);
  for (const value of [credentials.token, credentials.clientKey]) {
    if (!value) continue;
    run.secrets.add(value);
    // What a provider logs is not this run's alone.
    keepSecret(value);
  }
  return local ? { ...credentials, server: local.client } : credentials;
}

/** The kubeconfig of people's login runs a program that asks them; nothing that a runtime may do. */
function refusing({ namespace, name }: SecretReference): HttpKubeClient {
  return new HttpKubeClient('https://people.invalid', () => {
    throw new RuntimeError(
      'INVALID_PROVIDER',
      `the access in ${namespace}/${name} is an oidc login for people: use its kubeconfig or secretRef, not its client`,
    );
  });
}
