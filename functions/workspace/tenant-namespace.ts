import { NAMESPACES } from '../../shared/kube/resources.ts';
import { formatObjectKey } from '../../shared/model/object-key.ts';
import { OBJECT_ANNOTATION, RUNTIME_LABEL } from '../../shared/names.ts';
import type { KubeObject } from '../../shared/model/kubernetes.ts';
import { isDeleting } from '../../shared/status.ts';
import { REASONS_BEFORE_INSTALL as REASON } from '../step/flow.ts';
import type { Run } from '../step/run.ts';
import type { Verdict } from '../step/verdict.ts';

/**
 * The tenant namespace of a workspace; that of a ControlPlane is the platform's to make.
 * @returns the namespace, or what is waited for while that of an earlier object is still on its way out
 */
export async function ensureTenantNamespace(
  run: Run,
): Promise<{ namespace: KubeObject; waiting?: undefined } | { waiting: Verdict }> {
  const found = await run.platform.get(NAMESPACES, run.tenantNamespace);
  if (found && isDeleting(found))
    return {
      waiting: {
        state: 'waiting',
        reason: REASON.waitingForTenantNamespace,
        message: `Namespace ${run.tenantNamespace} on the platform cluster is still being removed`,
        retryAfterMs: 1_000,
      },
    };
  if (found) return { namespace: found };
  const namespace = await run.platform.apply(NAMESPACES, {
    metadata: {
      name: run.tenantNamespace,
      labels: { [RUNTIME_LABEL]: run.provider.name },
      annotations: { [OBJECT_ANNOTATION]: formatObjectKey(run.key) },
    },
  });
  return { namespace };
}
