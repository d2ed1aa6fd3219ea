import type { Logger } from 'pino';
import type { Provider } from '../../functions/provider.ts';
import { RuntimeError } from '../../shared/errors.ts';
import { RUNTIME_CLAIMS } from '../../shared/kcp/claims.ts';
import { incompatibilities, type SchemaSpec } from '../../shared/kcp/compatibility.ts';
import { isAlreadyExists, isConflict } from '../../shared/kube/api-error.ts';
import type { KubeClient } from '../../shared/kube/ports.ts';
import { API_EXPORTS, API_RESOURCE_SCHEMAS } from '../../shared/kube/resources.ts';
import type { KubeObjectOf } from '../../shared/model/kubernetes.ts';
import { RUNTIME_LABEL } from '../../shared/names.ts';
import { type ApiExport, decideExport, type WantedExport } from './decide-provision.ts';

const ATTEMPTS = 5;

/**
 * Makes the provider's type available to tenants: the APIResourceSchema and the APIExport in the provider workspace.
 * Idempotent; writes nothing where nothing differs. kcp adds the APIExportEndpointSlice of the same name by itself.
 * @param workspace the provider workspace
 * @throws RuntimeError `INVALID_PROVIDER` when the provider declares no kcp, or when objects that tenants have would no
 *   longer be valid under its schema; ApiError for what kcp refuses
 */
export async function provisionExport(workspace: KubeClient, provider: Provider, log: Logger): Promise<void> {
  if (!provider.kcp) throw new RuntimeError('INVALID_PROVIDER', `provider ${provider.name}: declares no kcp`);
  const { exportName, permissionClaims } = provider.kcp;
  const { group, plural } = provider.api.type;
  const schema = provider.api.apiResourceSchema();
  const wanted = {
    provider: provider.name,
    name: exportName,
    resource: { group, name: plural, schema: schema.metadata.name },
    claims: [...RUNTIME_CLAIMS, ...permissionClaims],
  };
  for (let attempt = 1; ; attempt++) {
    const existing = await workspace.get<ApiExport>(API_EXPORTS, exportName);
    await refuseIncompatible(workspace, existing, wanted.resource, schema['spec'] as SchemaSpec);
    await ensureSchema(workspace, provider, schema, log);
    try {
      await writeExport(workspace, existing, wanted, log);
      return;
    } catch (error) {
      // Somebody else wrote in between: look again.
      if (!isConflict(error) || attempt === ATTEMPTS) throw error;
    }
  }
}

/** What is exported now stays as it is until somebody decides. */
async function refuseIncompatible(
  workspace: KubeClient,
  existing: ApiExport | undefined,
  wanted: WantedExport['resource'],
  spec: SchemaSpec,
): Promise<void> {
  const { group, name, schema } = wanted;
  const current = existing?.spec?.resources?.find((each) => each.group === group && each.name === name)?.schema;
  if (!current || current === schema) return;
  const before = await workspace.get<KubeObjectOf<{ spec: SchemaSpec }>>(API_RESOURCE_SCHEMAS, current);
  const reasons = before ? incompatibilities(before.spec, spec) : [];
  if (reasons.length > 0)
    throw new RuntimeError(
      'INVALID_PROVIDER',
      `APIExport ${existing?.metadata.name}: objects of tenants would become invalid (${reasons.join('; ')}); keep the ` +
        `schema compatible, or remove ${name} from spec.resources of the APIExport to insist`,
    );
}

async function ensureSchema(
  workspace: KubeClient,
  provider: Provider,
  schema: ReturnType<Provider['api']['apiResourceSchema']>,
  log: Logger,
): Promise<void> {
  const { name } = schema.metadata;
  if (await workspace.get(API_RESOURCE_SCHEMAS, name)) return;
  const labels = { [RUNTIME_LABEL]: provider.name };
  try {
    await workspace.create(API_RESOURCE_SCHEMAS, { ...schema, metadata: { name, labels } });
    log.info({ schema: name }, 'created APIResourceSchema');
  } catch (error) {
    // Its name holds a hash of its content, so whoever was faster made the same.
    if (!isAlreadyExists(error)) throw error;
  }
}

async function writeExport(
  workspace: KubeClient,
  existing: ApiExport | undefined,
  wanted: WantedExport,
  log: Logger,
): Promise<void> {
  const decision = decideExport(existing, wanted);
  if (decision.kind === 'nothing') return;
  if (decision.kind === 'create') await workspace.create(API_EXPORTS, decision.object);
  else await workspace.mergePatch(API_EXPORTS, wanted.name, decision.patch);
  log.info({ export: wanted.name, schema: wanted.resource.schema }, `APIExport: ${decision.kind}`);
}
