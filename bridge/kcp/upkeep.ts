import type { Logger } from 'pino';
import type { Provider } from '../../shared/provider/provider.ts';
import type { KubeClient } from '../../shared/kube/ports.ts';
import { API_RESOURCE_SCHEMAS } from '../../shared/kube/resources.ts';
import { RUNTIME_LABEL } from '../../shared/names.ts';
import type { ApiExport } from './decide-provision.ts';
import type { ApiExportV1Alpha1 } from './decide-provision-v1alpha1.ts';
import { retiredSchemas } from './decide-retire.ts';
import { type ExportApi } from './export-api.ts';

/** Whether the export, or the schema that it serves our type from, was removed by somebody. */
export async function isExportGone(workspace: KubeClient, provider: Provider, api: ExportApi): Promise<boolean> {
  const existing = await workspace.get(api.exports, provider.kcp?.exportName ?? '');
  if (!existing) return true;
  const { name } = provider.api.apiResourceSchema().metadata;
  // Another version of the provider may have moved it on: only what is ours is mended.
  return schemasOf(existing).includes(name) && !(await workspace.get(API_RESOURCE_SCHEMAS, name));
}

/**
 * Deletes APIResourceSchemas of earlier versions of the provider that nothing uses any more.
 * @param inUse what the bindings of all workspaces are served from
 */
export async function retireSchemas(
  workspace: KubeClient,
  provider: Provider,
  api: ExportApi,
  options: { inUse: Iterable<string>; graceMs: number; log: Logger },
): Promise<void> {
  const { items } = await workspace.list(API_RESOURCE_SCHEMAS, {
    labelSelector: `${RUNTIME_LABEL}=${provider.name}`,
    metadataOnly: true,
  });
  if (items.length < 2) return;
  const exports = await workspace.list(api.exports);
  const used = new Set([...options.inUse, ...exports.items.flatMap(schemasOf)]);
  for (const { metadata } of retiredSchemas(items, provider.api.type, used, new Date(), options.graceMs)) {
    await workspace.delete(API_RESOURCE_SCHEMAS, metadata.name, { uid: metadata.uid });
    options.log.info({ schema: metadata.name }, 'removed an APIResourceSchema that nothing uses any more');
  }
}

function schemasOf(found: ApiExport | ApiExportV1Alpha1): string[] {
  const { spec } = found as ApiExport & ApiExportV1Alpha1;
  return [...(spec?.resources ?? []).map(({ schema }) => schema), ...(spec?.latestResourceSchemas ?? [])];
}
