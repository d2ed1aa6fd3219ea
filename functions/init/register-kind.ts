import { isDeepStrictEqual } from 'node:util';
import type { Logger } from 'pino';
import type { KubeClient } from '../../shared/kube/ports.ts';
import { SERVICE_PROVIDERS } from '../../shared/kube/resources.ts';
import type { KubeObjectOf } from '../../shared/model/kubernetes.ts';
import type { Provider } from '../../shared/provider/provider.ts';

type ServiceProvider = KubeObjectOf<{
  status?: { observedGeneration?: number; resources?: { group: string; version: string; kind: string }[] };
}>;

/**
 * Says at the ServiceProvider of the provider's name which kind can be ordered (`status.resources`). Nothing is said
 * where the provider was started by hand, without a ServiceProvider.
 */
export async function registerKind(platform: KubeClient, provider: Provider, log: Logger): Promise<void> {
  const { group, version, kind } = provider.api.type;
  const found = await platform.get<ServiceProvider>(SERVICE_PROVIDERS, provider.name);
  if (!found) {
    log.warn({ serviceProvider: provider.name }, 'no ServiceProvider of that name: the kind is registered nowhere');
    return;
  }
  const resources = [{ group, version, kind }];
  if (isDeepStrictEqual(found.status?.resources, resources)) return;
  // Its type asks for this field, which the operator may not have written yet.
  const observedGeneration = found.status?.observedGeneration ?? 0;
  const patch = { status: { observedGeneration, resources } };
  await platform.mergePatch(SERVICE_PROVIDERS, provider.name, patch, { subresource: 'status' });
  log.info({ serviceProvider: provider.name, kind }, 'kind is registered');
}
