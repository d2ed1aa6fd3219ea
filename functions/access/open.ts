import { RuntimeError } from '../../shared/errors.ts';
import { kubeconfigFromSecret, parseKubeconfig } from '../../shared/kube/kubeconfig.ts';
import { SECRETS } from '../../shared/kube/resources.ts';
import type { Secret } from '../../shared/model/access.ts';
import { keepSecret } from '../../shared/redact.ts';
import type { Cluster } from '../provider.ts';
import type { Run } from '../run.ts';
import type { SecretReference } from './verdict.ts';

/**
 * A cluster for the provider's hands, from the kubeconfig Secret as it is now: a rotated credential is used from the
 * next run on.
 * @param guard what stops the client; stricter than the run's own, since it also ends with `ctx.signal`
 */
export async function openCluster(run: Run, secret: SecretReference, guard: () => void): Promise<Cluster> {
  const where = `${secret.namespace}/${secret.name}`;
  const found = await run.platform.get<Secret>(SECRETS, secret.name, secret.namespace);
  if (!found) throw new RuntimeError('NOT_READY', `Secret ${where} of the granted access does not exist`);
  const kubeconfig = kubeconfigFromSecret(found, where, secret.key);
  const credentials = parseKubeconfig(kubeconfig, where);
  for (const value of [credentials.token, credentials.clientKey]) {
    if (!value) continue;
    run.secrets.add(value);
    // What a provider logs is not this run's alone.
    keepSecret(value);
  }
  return {
    client: run.clients.clientFor(credentials).fenced(guard, run.signal),
    kubeconfig,
    secretRef: secret,
  };
}
