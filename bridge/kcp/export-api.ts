import { isNotFound } from '../../shared/kube/api-error.ts';
import type { KubeClient } from '../../shared/kube/ports.ts';
import { API_BINDINGS, API_EXPORTS } from '../../shared/kube/resources.ts';
import type { ResourceType } from '../../shared/model/kubernetes.ts';
import { API_BINDINGS_V1ALPHA1 } from '../../shared/kcp/bindings.ts';

/** The version of kcp's API that a server has; they differ in what an APIExport looks like. */
export interface ExportApi {
  readonly version: 'v1alpha2' | 'v1alpha1';
  readonly exports: ResourceType;
  readonly bindings: ResourceType;
}

const NEW: ExportApi = { version: 'v1alpha2', exports: API_EXPORTS, bindings: API_BINDINGS };
const OLD: ExportApi = {
  version: 'v1alpha1',
  exports: { ...API_EXPORTS, version: 'v1alpha1' },
  bindings: API_BINDINGS_V1ALPHA1,
};

/** @throws ApiError where neither is served, or the workspace can't be read */
export async function exportApiOf(workspace: KubeClient, exportName: string): Promise<ExportApi> {
  try {
    await workspace.get(NEW.exports, exportName);
    return NEW;
  } catch (error) {
    // An export that doesn't exist is no error; a type that isn't served is.
    if (!isNotFound(error)) throw error;
    await workspace.get(OLD.exports, exportName);
    return OLD;
  }
}
