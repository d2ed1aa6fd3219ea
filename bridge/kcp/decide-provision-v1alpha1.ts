import { claimName } from '../../shared/kcp/claims.ts';
import type { KubeObjectOf } from '../../shared/model/kubernetes.ts';
import { CLAIMS_ANNOTATION, RUNTIME_LABEL } from '../../shared/names.ts';
import type { WantedExport } from './decide-provision.ts';

interface Claim {
  group?: string;
  resource: string;
  identityHash?: string;
  all?: boolean;
}

/** `apis.kcp.io/v1alpha1` APIExport, as far as provisioning reads or writes it: claims have no verbs, all are meant. */
export type ApiExportV1Alpha1 = KubeObjectOf<{
  spec?: { latestResourceSchemas?: string[]; permissionClaims?: Claim[] };
}>;

export type ExportDecisionV1Alpha1 =
  | { kind: 'nothing' }
  | { kind: 'create'; object: ApiExportV1Alpha1 }
  /** A merge patch that holds the resourceVersion it was computed from. */
  | { kind: 'patch'; patch: object };

/** The same as `decideExport`, for servers that only know the older version. */
export function decideExportV1Alpha1(
  existing: ApiExportV1Alpha1 | undefined,
  wanted: WantedExport,
): ExportDecisionV1Alpha1 {
  const ours = new Map<string, Claim>(
    wanted.claims.map(({ group = '', resource, identityHash }) => [
      claimName({ group, resource }),
      { group, resource, all: true, ...(identityHash ? { identityHash } : {}) },
    ]),
  );
  const annotation = [...ours.keys()].toSorted().join(',');
  const { schema } = wanted.resource;
  if (!existing)
    return {
      kind: 'create',
      object: {
        metadata: {
          name: wanted.name,
          labels: { [RUNTIME_LABEL]: wanted.provider },
          annotations: { [CLAIMS_ANNOTATION]: annotation },
        },
        spec: { latestResourceSchemas: [schema], permissionClaims: [...ours.values()] },
      },
    };
  const remembered = existing.metadata.annotations?.[CLAIMS_ANNOTATION];
  const before = new Set(remembered?.split(','));
  const present = existing.spec?.permissionClaims ?? [];
  const kept = present.filter((claim) => ours.has(claimName(claim)) || !before.has(claimName(claim)));
  const names = new Set(kept.map(claimName));
  const added = [...ours].filter(([name]) => !names.has(name)).map(([, claim]) => claim);
  const claims = kept.length === present.length && added.length === 0 ? undefined : [...kept, ...added];
  const schemas = withSchema(existing.spec?.latestResourceSchemas ?? [], wanted.resource);
  if (!claims && !schemas && remembered === annotation) return { kind: 'nothing' };
  return {
    kind: 'patch',
    patch: {
      metadata: {
        resourceVersion: existing.metadata.resourceVersion,
        annotations: { [CLAIMS_ANNOTATION]: annotation },
      },
      spec: {
        ...(schemas ? { latestResourceSchemas: schemas } : {}),
        ...(claims ? { permissionClaims: claims } : {}),
      },
    },
  };
}

/** A schema is named `<prefix>.<plural>.<group>`. `undefined` where nothing changes. */
function withSchema(existing: string[], wanted: WantedExport['resource']): string[] | undefined {
  if (existing.includes(wanted.schema)) return undefined;
  const others = existing.filter((name) => !isOfType(name, wanted));
  return [...others, wanted.schema];
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
