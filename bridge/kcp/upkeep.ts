import type { Logger } from 'pino';
import type { Provider } from '../../shared/provider/provider.ts';
import type { KubeClient } from '../../shared/kube/ports.ts';
import { API_RESOURCE_SCHEMAS } from '../../shared/kube/resources.ts';
import { RUNTIME_LABEL } from '../../shared/names.ts';
import { type ApiExport, currentSchema } from './decide-provision.ts';
import { type ApiExportV1Alpha1, currentSchemaV1Alpha1 } from './decide-provision-v1alpha1.ts';
import { retiredSchemas } from './decide-retire.ts';
import { type ExportApi } from './export-api.ts';

/**
 * Whether another version of the provider serves the type now, from a schema of its own: then the export is that one's.
 * @param kept the schema that is there since ours was refused
 */
export async function isMovedOn(
  workspace: KubeClient,
  provider: Provider,
  api: ExportApi,
  kept: string | undefined,
): Promise<boolean> {
  const existing = await workspace.get(api.exports, provider.kcp?.exportName ?? '');
  const { group, plural } = provider.api.type;
  const resource = { group, name: plural, schema: provider.api.apiResourceSchema().metadata.name };
  const current =
    api.version === 'v1alpha1' ? currentSchemaV1Alpha1(existing, resource) : currentSchema(existing, resource);
  if (current === undefined || current === resource.schema || current === kept) return false;
  // A schema that no provider has made is somebody's edit.
  const schema = await workspace.get(API_RESOURCE_SCHEMAS, current);
  return schema?.metadata.labels?.[RUNTIME_LABEL] === provider.name;
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
