import { isConflict, isNotFound } from '../../shared/kube/api-error.ts';
import type { ServiceObject } from '../../shared/model/kubernetes.ts';
import { type StatusReport, statusPatch } from '../../shared/status.ts';
import { keepStarted } from './flow.ts';
import { forTenants } from './decide-tenant-view.ts';
import { type Run, tenantView } from './run.ts';
import { MAX_CONFLICTS } from '../tuning.ts';

/**
 * Brings a report onto the object; writes nothing where it is there already. Reads again on conflict.
 * @returns the object as it is now; `undefined` when it went meanwhile
 */
export async function writeStatus(
  run: Run,
  object: ServiceObject,
  report: StatusReport,
): Promise<ServiceObject | undefined> {
  const { key, provider, home } = run;
  if (run.gone) return object;
  let current = object;
  for (let attempt = 1; ; attempt++) {
    const { report: shown, kept } = forTenants(keepStarted(current, report), tenantView(run));
    const patch = statusPatch(current, shown, run.now());
    if (!patch) return current;
    for (const each of kept) run.log.info({ kept: each }, 'kept from tenants');
    try {
      return await home.mergePatch<ServiceObject>(provider.api.type, key.name, patch, {
        namespace: key.namespace,
        subresource: 'status',
      });
    } catch (error) {
      const again = isNotFound(error) || (isConflict(error) && attempt < MAX_CONFLICTS);
      if (!again) throw error;
      // Only this answer tells whether it is gone: a type or workspace that is not served is a 404 as well.
      const fresh = await home.get<ServiceObject>(provider.api.type, key.name, key.namespace);
      if (!fresh || fresh.metadata.uid !== key.uid) return undefined;
      if (attempt >= MAX_CONFLICTS) throw error;
      // A report about a generation that is not the newest any more must not claim to be about the newest.
      current = { ...fresh, metadata: { ...fresh.metadata, generation: object.metadata.generation ?? 0 } };
    }
  }
}
