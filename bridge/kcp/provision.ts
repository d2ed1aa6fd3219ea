import type { Logger } from 'pino';
import type { Provider } from '../../shared/provider/provider.ts';
import { RuntimeError } from '../../shared/errors.ts';
import { claimName, RUNTIME_CLAIMS } from '../../shared/kcp/claims.ts';
import { incompatibilities, type SchemaSpec } from '../../shared/kcp/compatibility.ts';
import { isAlreadyExists, isConflict } from '../../shared/kube/api-error.ts';
import type { KubeClient } from '../../shared/kube/ports.ts';
import { API_RESOURCE_SCHEMAS } from '../../shared/kube/resources.ts';
import type { PermissionClaim } from '../../shared/model/access.ts';
import type { KubeObjectOf } from '../../shared/model/kubernetes.ts';
import type { ApiResourceSchema } from '../../shared/provider/schema/crd.ts';
import { RUNTIME_LABEL } from '../../shared/names.ts';
import {
  type ApiExport,
  decideExport,
  type ExportDecision,
  exportedSchemas,
  type WantedExport,
} from './decide-provision.ts';
import { decideExportV1Alpha1, exportedV1Alpha1 } from './decide-provision-v1alpha1.ts';
import { type ExportApi, exportApiOf } from './export-api.ts';
import { ensureTenantRights } from './tenant-rights.ts';
import { PROVISION_ATTEMPTS } from '../tuning.ts';

type StoredSchema = KubeObjectOf<{ spec: ApiResourceSchema['spec'] }>;

export interface ProvisionOptions {
  /** An APIExport that differs is left as it is: somebody else keeps changing it. */
  readonly leave?: boolean;
  /** By `<resource>.<group>` of a claim on a type of another APIExport: that one's identity. */
  readonly identityHashes?: Readonly<Record<string, string>> | undefined;
}

/** What {@link provisionExport} found and did. */
export interface Provisioned {
  /** The version of kcp's API that the server has. */
  readonly api: ExportApi;
  /** What of the APIExport was not as it has to be, and is now; for people. */
  readonly mended: readonly string[];
  /** Why tenants can write the status of their objects; undefined when they can't. */
  readonly statusOpen: string | undefined;
  /** Why tenants are served on the schema that they have, and not on the provider's; undefined when they are on that. */
  readonly refused: Refused | undefined;
}

/** A schema that was not put in force. */
export interface Refused {
  readonly why: RuntimeError;
  /** The APIResourceSchema that stays. */
  readonly schema: string;
}

/**
 * Makes the provider's type available to tenants: the APIResourceSchema and the APIExport in the provider workspace, and
 * what tenants may do with it. Idempotent; writes nothing where nothing differs. kcp adds the APIExportEndpointSlice of
 * the same name by itself.
 * A schema under which objects that tenants have would no longer be valid is not put in force: all else is as it has to
 * be, and they go on with the one that they have.
 * @param workspace the provider workspace
 * @throws RuntimeError `INVALID_PROVIDER` when the provider declares no kcp, or its kind is exported by another name
 *   already; ApiError for what kcp refuses
 */
export async function provisionExport(
  workspace: KubeClient,
  provider: Provider,
  log: Logger,
  { leave = false, identityHashes = {} }: ProvisionOptions = {},
): Promise<Provisioned> {
  if (!provider.kcp) throw new RuntimeError('INVALID_PROVIDER', `provider ${provider.name}: declares no kcp`);
  const { exportName, permissionClaims } = provider.kcp;
  const { group, plural } = provider.api.type;
  const schema = provider.api.apiResourceSchema();
  const spec = schema['spec'] as ApiResourceSchema['spec'];
  const resource = { group, name: plural, schema: schema.metadata.name };
  const api = await exportApiOf(workspace, exportName);
  let existing = await workspace.get<ApiExport>(api.exports, exportName);
  await refuseSecondName(workspace, api, existing, { name: exportName, resource }, spec);
  const unlimited = await ensureTenantRights(workspace, provider);
  const wanted = {
    provider: provider.name,
    name: exportName,
    resource,
    claims: [...RUNTIME_CLAIMS, ...permissionClaims].map((claim) => identified(claim, identityHashes)),
    limitTenants: unlimited === undefined,
  };
  for (let attempt = 1; ; attempt++) {
    const { current, others } = exported(api, existing, wanted);
    const refused = await refusedSchema(workspace, current, wanted, spec);
    if (!refused) await ensureSchema(workspace, provider, schema, log);
    const schemaInForce = refused?.schema ?? resource.schema;
    const decision = decided(api, existing, { ...wanted, resource: { ...resource, schema: schemaInForce } });
    const shared = others.length > 0;
    const open =
      shared && !existing?.spec?.maximalPermissionPolicy ? `APIExport ${exportName} has other types` : undefined;
    const result = { api, mended: [], statusOpen: unlimited ?? open, refused };
    try {
      if (decision.kind === 'nothing') return result;
      if (decision.kind === 'create') {
        await workspace.create(api.exports, decision.object);
        log.info({ export: exportName, schema: wanted.resource.schema }, 'created APIExport');
        return { ...result, mended: ['the whole of it'] };
      }
      if (!leave) {
        await workspace.mergePatch(api.exports, exportName, decision.patch);
        log.info({ export: exportName, fields: decision.fields }, 'changed APIExport');
      }
      return { ...result, mended: decision.fields };
    } catch (error) {
      // Somebody else wrote in between: look again.
      if (!isConflict(error) || attempt === PROVISION_ATTEMPTS) throw error;
      existing = await workspace.get<ApiExport>(api.exports, exportName);
    }
  }
}

/** What the platform operator configured goes before what is written in the provider. */
function identified(claim: PermissionClaim, hashes: Readonly<Record<string, string>>): PermissionClaim {
  const identityHash = hashes[claimName(claim)];
  return identityHash === undefined ? claim : { ...claim, identityHash };
}

/** The schema that the export serves the type from, and those of its other types. */
function exported(api: ExportApi, existing: ApiExport | undefined, { resource }: Pick<WantedExport, 'resource'>) {
  return api.version === 'v1alpha1' ? exportedV1Alpha1(existing, resource) : exportedSchemas(existing, resource);
}

/** What has to be written. */
function decided(api: ExportApi, existing: ApiExport | undefined, wanted: WantedExport): ExportDecision {
  return api.version === 'v1alpha1'
    ? (decideExportV1Alpha1(existing, wanted) as ExportDecision)
    : decideExport(existing, wanted);
}

/** What is exported now stays as it is until somebody decides. */
async function refusedSchema(
  workspace: KubeClient,
  current: string | undefined,
  wanted: WantedExport,
  spec: SchemaSpec,
): Promise<Refused | undefined> {
  if (!current || current === wanted.resource.schema) return undefined;
  const before = await workspace.get<StoredSchema>(API_RESOURCE_SCHEMAS, current);
  const reasons = before ? incompatibilities(before.spec, spec) : [];
  if (reasons.length === 0) return undefined;
  const message =
    `APIExport ${wanted.name}: objects of tenants would become invalid (${reasons.join('; ')}); keep the ` +
    `schema compatible, or remove ${wanted.resource.name} from spec of the APIExport to insist`;
  return { why: new RuntimeError('INVALID_PROVIDER', message), schema: current };
}

/** Two names of one kind would be two types of which kcp serves neither rightly, and objects lie under the first. */
async function refuseSecondName(
  workspace: KubeClient,
  api: ExportApi,
  existing: ApiExport | undefined,
  wanted: Pick<WantedExport, 'name' | 'resource'>,
  { names: { kind } }: ApiResourceSchema['spec'],
): Promise<void> {
  for (const name of exported(api, existing, wanted).others) {
    const other = (await workspace.get<StoredSchema>(API_RESOURCE_SCHEMAS, name))?.spec;
    if (other?.group !== wanted.resource.group || other.names.kind !== kind) continue;
    const { plural } = other.names;
    const message =
      `APIExport ${wanted.name}: ${kind} is exported as ${plural} already, and would be as ${wanted.resource.name}, too; ` +
      `set plural: '${plural}' in the provider, or remove ${plural} from spec of the APIExport to insist`;
    throw new RuntimeError('INVALID_PROVIDER', message);
  }
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
