import { claimName } from '../../shared/kcp/claims.ts';
import type { KubeObjectOf } from '../../shared/model/kubernetes.ts';
import {
  decisionOf,
  type ExportDecision,
  rememberedClaims,
  type WantedExport,
  withPolicy,
} from './decide-provision.ts';

interface Claim {
  group?: string;
  resource: string;
  identityHash?: string;
  all?: boolean;
}

/** `apis.kcp.io/v1alpha1` APIExport, as far as provisioning reads or writes it: claims have no verbs, all are meant. */
export type ApiExportV1Alpha1 = KubeObjectOf<{
  spec?: { latestResourceSchemas?: string[]; permissionClaims?: Claim[]; maximalPermissionPolicy?: object };
}>;

/** The same as `decideExport`, for servers that only know the older version. */
export function decideExportV1Alpha1(
  existing: ApiExportV1Alpha1 | undefined,
  wanted: WantedExport,
): ExportDecision<ApiExportV1Alpha1> {
  const ours = new Map<string, Claim>(
    wanted.claims.map(({ group = '', resource, identityHash }) => [
      claimName({ group, resource }),
      { group, resource, all: true, ...(identityHash ? { identityHash } : {}) },
    ]),
  );
  const before = rememberedClaims(existing);
  const present = existing?.spec?.permissionClaims ?? [];
  const kept = present.filter((claim) => ours.has(claimName(claim)) || !before.has(claimName(claim)));
  const names = new Set(kept.map(claimName));
  const added = [...ours].filter(([name]) => !names.has(name)).map(([, claim]) => claim);
  return decisionOf(existing, wanted, [...ours.values()], {
    latestResourceSchemas: withSchema(existing?.spec?.latestResourceSchemas ?? [], wanted.resource),
    permissionClaims: kept.length === present.length && added.length === 0 ? undefined : [...kept, ...added],
    maximalPermissionPolicy: withPolicy(existing, wanted, isSharedV1Alpha1(existing, wanted)),
  });
}

/** Whether the export serves other types as well. */
export function isSharedV1Alpha1(existing: ApiExportV1Alpha1 | undefined, { resource }: WantedExport): boolean {
  return (existing?.spec?.latestResourceSchemas ?? []).some((schema) => !isOfType(schema, resource));
}

/** A schema is named `<prefix>.<plural>.<group>`. `undefined` where nothing changes. */
function withSchema(existing: string[], wanted: WantedExport['resource']): string[] | undefined {
  if (existing.includes(wanted.schema)) return undefined;
  const others = existing.filter((name) => !isOfType(name, wanted));
  return [...others, wanted.schema];
}

/** The schema from which an export serves the type, and those of its other types. */
export function exportedV1Alpha1(
  existing: ApiExportV1Alpha1 | undefined,
  resource: WantedExport['resource'],
): { current: string | undefined; others: string[] } {
  const schemas = existing?.spec?.latestResourceSchemas ?? [];
  return {
    current: currentSchemaV1Alpha1(existing, resource),
    others: schemas.filter((schema) => !isOfType(schema, resource)),
  };
}

/** Which of an export's schemas serves the type. */
export function currentSchemaV1Alpha1(
  existing: ApiExportV1Alpha1 | undefined,
  resource: WantedExport['resource'],
): string | undefined {
  return existing?.spec?.latestResourceSchemas?.find((name) => isOfType(name, resource));
}

function isOfType(schema: string, { group, name }: WantedExport['resource']): boolean {
  return schema.endsWith(`.${name}.${group}`) && !schema.slice(0, -`.${name}.${group}`.length).includes('.');
}
