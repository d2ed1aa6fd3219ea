import { conflictWith, isAlreadyExists } from '../../shared/kube/api-error.ts';
import { NAMESPACES } from '../../shared/kube/resources.ts';
import { formatObjectKey } from '../../shared/model/object-key.ts';
import { OBJECT_ANNOTATION, RUNTIME_LABEL } from '../../shared/names.ts';
import { REASONS_BEFORE_INSTALL as REASON } from '../step/flow.ts';
import { isOf, type Marks, marksOf } from '../step/marks.ts';
import type { Run } from '../step/run.ts';
import type { Verdict } from '../step/verdict.ts';

type Waiting = Extract<Verdict, { state: 'waiting' }>;

/**
 * Makes the tenant namespace of a workspace the object's: its claim to be the one that is served. Of several that try at
 * once the API server lets one. (That of a ControlPlane is the platform's to make, and needs no claim.)
 * @param marks as they were read; the namespace is nobody's, or of an earlier object of the same name, or the object's
 * @returns the marks as they are now, or what is waited for
 * @throws ApiError 409 `Conflict` where another was first
 */
export async function claimWorkspace(run: Run, marks: Marks | undefined): Promise<{ marks: Marks } | Waiting> {
  const claim = { [OBJECT_ANNOTATION]: formatObjectKey(run.key) };
  if (!marks) return createNamespace(run, claim);
  if (marks.ending) return waitFor(`Namespace ${run.tenantNamespace} on the platform cluster is still being removed`);
  if (isOf(marks, run.key)) return { marks };
  const taken = await run.marks.write(claim, marks);
  return taken ? { marks: taken } : waitFor(`Namespace ${run.tenantNamespace} on the platform cluster was removed`);
}

/**
 * Before anything is written that the next object of the workspace would find.
 * @throws ApiError 409 `Conflict` where the claim has ended
 */
export async function requireClaim({ key, marks, tenantNamespace }: Run): Promise<void> {
  const now = await marks.read();
  if (now && !now.ending && isOf(now, key)) return;
  throw conflictWith(`claim of ${key.name}`, `Namespace ${tenantNamespace} is not claimed for the object any more`);
}

async function createNamespace(run: Run, claim: Record<string, string>): Promise<{ marks: Marks } | Waiting> {
  try {
    const created = await run.platform.create(NAMESPACES, {
      metadata: {
        name: run.tenantNamespace,
        labels: { [RUNTIME_LABEL]: run.provider.name },
        annotations: claim,
      },
    });
    return { marks: marksOf(created, false) };
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
    return waitFor(`Namespace ${run.tenantNamespace} on the platform cluster was just made for another object`);
  }
}

function waitFor(message: string): Waiting {
  return { state: 'waiting', reason: REASON.waitingForTenantNamespace, message, retryAfterMs: 1_000 };
}
