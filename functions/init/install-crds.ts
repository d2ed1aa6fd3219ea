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
  status?: {
    storedVersions?: string[];
    conditions?: Pick<Condition, 'type' | 'status' | 'reason' | 'message'>[];
  };
}>;

/**
 * Applies CustomResourceDefinitions and returns when all of them are served. Works on kube-apiservers and in kcp
 * workspaces; idempotent. Where one of them can't be, none is written.
 * @throws RuntimeError `INVALID_PROVIDER` where objects are stored in a version that is gone, or the kind has another plural
 *   on that cluster already; `NOT_READY` naming the CRD and its condition when one isn't served within `timeoutMs`
 */
export async function installCrds(
  cluster: KubeClient,
  crds: readonly object[],
  timeoutMs: number = CRD_TIMEOUT_MS,
): Promise<void> {
  const deadline = performance.now() + timeoutMs;
  await Promise.all(crds.map((crd) => refuseLostVersions(cluster, crd as CrdState)));
  const applied = await Promise.all(crds.map((crd) => cluster.apply<CrdState>(CRDS, crd as CrdState)));
  await Promise.all(applied.map((crd) => established(cluster, crd, deadline)));
}

/** An API server would refuse it as well, in its own words, when others are written already. */
async function refuseLostVersions(cluster: KubeClient, { metadata: { name }, spec }: CrdState): Promise<void> {
  const stored = (await cluster.get<CrdState>(CRDS, name))?.status?.storedVersions ?? [];
  const lost = stored.filter((version) => !spec.versions.some((each) => each.name === version));
  if (lost.length === 0) return;
  const now = spec.versions.map((version) => version.name).join(', ');
  throw new RuntimeError(
    'INVALID_PROVIDER',
    `CustomResourceDefinition ${name}: objects may be stored in ${lost.join(', ')}, which the provider does not have any ` +
      `more (it has ${now}); nothing was changed. Declare both with serviceApi({ crd }) until every object was written ` +
      `once in the new version and ${lost.join(', ')} is taken out of status.storedVersions`,
  );
}

async function established(cluster: KubeClient, applied: CrdState, deadline: number): Promise<void> {
  let state: CrdState | undefined = applied;
  for (;;) {
    const conditions = state?.status?.conditions ?? [];
    const isEstablished = conditions.some(({ type, status }) => type === 'Established' && status === 'True');
    if (isEstablished && (await isServed(cluster, applied))) return;
    const taken = conditions.find(({ type, status }) => type === 'NamesAccepted' && status === 'False');
    if (taken) throw namesTaken(applied, taken.message);
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

/** It does not go away by itself, so nobody waits for it. */
function namesTaken({ metadata, spec: { names } }: CrdState, message: string): RuntimeError {
  return new RuntimeError(
    'INVALID_PROVIDER',
    `CustomResourceDefinition ${metadata.name}: ${names.kind}, or one of its names, is another one's there (${message}); ` +
      'set plural in the provider to what that one has, or remove the one that is not needed',
  );
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
