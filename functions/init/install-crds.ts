import { setTimeout as sleep } from 'node:timers/promises';
import { RuntimeError } from '../../shared/errors.ts';
import { ApiError, isDenied } from '../../shared/kube/api-error.ts';
import type { KubeClient } from '../../shared/kube/ports.ts';
import { CRDS } from '../../shared/kube/resources.ts';
import type { Condition, KubeObjectOf } from '../../shared/model/kubernetes.ts';
import { CRD_POLL_MS, CRD_TIMEOUT_MS } from '../tuning.ts';

type CrdState = KubeObjectOf<{
  spec: {
    group: string;
    names: { kind: string; plural: string };
    scope: string;
    versions: { name: string; served: boolean }[];
  };
  status?: { conditions?: Pick<Condition, 'type' | 'status' | 'reason' | 'message'>[] };
}>;

/**
 * Applies CustomResourceDefinitions and returns when all of them are served. Works on kube-apiservers and in kcp
 * workspaces; idempotent.
 * @throws RuntimeError `NOT_READY` naming the CRD and its condition when one isn't served within `timeoutMs`
 */
export async function installCrds(
  cluster: KubeClient,
  crds: readonly object[],
  timeoutMs: number = CRD_TIMEOUT_MS,
): Promise<void> {
  const deadline = performance.now() + timeoutMs;
  const applied = await Promise.all(crds.map((crd) => cluster.apply<CrdState>(CRDS, crd as CrdState)));
  await Promise.all(applied.map((crd) => established(cluster, crd, deadline)));
}

async function established(cluster: KubeClient, applied: CrdState, deadline: number): Promise<void> {
  let state: CrdState | undefined = applied;
  for (;;) {
    const conditions = state?.status?.conditions ?? [];
    const isEstablished = conditions.some(({ type, status }) => type === 'Established' && status === 'True');
    if (isEstablished && (await isServed(cluster, applied))) return;
    if (performance.now() > deadline) {
      const refused = conditions.filter(({ status }) => status === 'False');
      const why = refused.map(({ type, message }) => `${type}: ${message}`).join('; ');
      throw new RuntimeError(
        'NOT_READY',
        `CustomResourceDefinition ${applied.metadata.name} is not served yet (${why || 'no condition says why'})`,
      );
    }
    await sleep(CRD_POLL_MS);
    state = await cluster.get<CrdState>(CRDS, applied.metadata.name);
  }
}

/** The condition comes a moment before the type is served: only then is a missing object reported by its name. */
async function isServed(cluster: KubeClient, { spec }: CrdState): Promise<boolean> {
  const version = spec.versions.find(({ served }) => served);
  if (!version) return true;
  const namespaced = spec.scope === 'Namespaced';
  const type = { group: spec.group, version: version.name, ...spec.names, namespaced };
  try {
    await cluster.get(type, 'is-it-served', namespaced ? 'default' : undefined);
    return true;
  } catch (error) {
    // Who may install a CRD need not be allowed to read its objects; then the condition has to do.
    if (isDenied(error)) return true;
    if (error instanceof ApiError && error.status === 404) return false;
    throw error;
  }
}
