import { claimName } from '../../shared/kcp/claims.ts';
import type { PermissionClaim } from '../../shared/model/access.ts';
import type { KubeObject, KubeObjectOf } from '../../shared/model/kubernetes.ts';
import { CLAIMS_ANNOTATION, RUNTIME_LABEL } from '../../shared/names.ts';

/** One type that an APIExport serves. */
export interface ExportedResource {
  group: string;
  name: string;
  schema: string;
  storage?: Record<string, unknown>;
}

/** `apis.kcp.io/v1alpha2` APIExport, as far as provisioning reads or writes it. */
export type ApiExport = KubeObjectOf<{
  spec?: { resources?: ExportedResource[]; permissionClaims?: PermissionClaim[]; maximalPermissionPolicy?: object };
}>;

export interface WantedExport {
  provider: string;
  name: string;
  resource: { group: string; name: string; schema: string };
  /** The runtime's and the provider's; several for one resource are merged. */
  claims: readonly PermissionClaim[];
  /** What tenants may do at most is written down in the provider workspace, and can be put in force. */
  limitTenants: boolean;
}

export type ExportDecision<T = ApiExport> =
  | { kind: 'nothing' }
  | { kind: 'create'; object: T }
  /** A merge patch that holds the resourceVersion it was computed from, and what it changes, for people. */
  | { kind: 'patch'; patch: object; fields: readonly string[] };

/**
 * What to write so that the APIExport serves our type and asks for our claims. Other types, other claims and all other
 * fields stay as they are: a platform operator may share one APIExport between providers. An annotation remembers which
 * claims are ours, so that one which a later version of the provider no longer needs is taken away.
 */
export function decideExport(existing: ApiExport | undefined, wanted: WantedExport): ExportDecision {
  const ours = mergeClaims(wanted.claims);
  const resource: ExportedResource = { ...wanted.resource, storage: { crd: {} } };
  const remembered = rememberedClaims(existing);
  return decisionOf(existing, wanted, ours, {
    resources: withResource(existing?.spec?.resources ?? [], resource),
    permissionClaims: withClaims(existing?.spec?.permissionClaims ?? [], ours, remembered),
    maximalPermissionPolicy: withPolicy(existing, wanted, isShared(existing, wanted)),
  });
}

/** Which of an export's schemas serves the type. */
export function currentSchema(
  existing: ApiExport | undefined,
  { group, name }: { group: string; name: string },
): string | undefined {
  return existing?.spec?.resources?.find((each) => each.group === group && each.name === name)?.schema;
}

/** The schema from which an export serves the type, and those of its other types. */
export function exportedSchemas(
  existing: ApiExport | undefined,
  type: { group: string; name: string },
): { current: string | undefined; others: string[] } {
  const current = currentSchema(existing, type);
  const schemas = (existing?.spec?.resources ?? []).map(({ schema }) => schema);
  return { current, others: schemas.filter((schema) => schema !== current) };
}

/** Whether the export serves other types as well. */
export function isShared(existing: ApiExport | undefined, { resource }: WantedExport): boolean {
  return (existing?.spec?.resources ?? []).some((each) => each.group !== resource.group || each.name !== resource.name);
}

/**
 * Tenants are held to what their rights in the provider workspace allow. Not where there is a policy already, nor where
 * other types are served: tenants would lose those, whose rights are nowhere.
 * @returns undefined where nothing changes
 */
export function withPolicy(
  existing: { spec?: { maximalPermissionPolicy?: object } } | undefined,
  { limitTenants }: WantedExport,
  shared: boolean,
): object | undefined {
  return limitTenants && !shared && !existing?.spec?.maximalPermissionPolicy ? { local: {} } : undefined;
}

/** Names of the claims that were ours when the export was written last. */
export function rememberedClaims(existing: KubeObject | undefined): ReadonlySet<string> {
  return new Set(existing?.metadata.annotations?.[CLAIMS_ANNOTATION]?.split(','));
}

/**
 * Creates the export with our part of its spec, or patches what differs; the same for both versions of kcp's API.
 * @param spec fields that are undefined stay as they are
 */
export function decisionOf<T extends KubeObject>(
  existing: T | undefined,
  { provider, name }: WantedExport,
  ours: readonly { group?: string; resource: string }[],
  spec: Record<string, unknown>,
): ExportDecision<T> {
  const annotation = ours.map(claimName).toSorted().join(',');
  const annotations = { [CLAIMS_ANNOTATION]: annotation };
  const changes = Object.fromEntries(Object.entries(spec).filter(([, value]) => value !== undefined));
  if (!existing) {
    const metadata = { name, labels: { [RUNTIME_LABEL]: provider }, annotations };
    return { kind: 'create', object: { metadata, spec: changes } as unknown as T };
  }
  const { resourceVersion, labels, annotations: noted } = existing.metadata;
  const label = labels?.[RUNTIME_LABEL] === undefined;
  const fields = Object.keys(changes).map((field) => `spec.${field}`);
  if (label) fields.push(`label ${RUNTIME_LABEL}`);
  if (noted?.[CLAIMS_ANNOTATION] !== annotation) fields.push(`annotation ${CLAIMS_ANNOTATION}`);
  if (fields.length === 0) return { kind: 'nothing' };
  const metadata = { resourceVersion, annotations, ...(label ? { labels: { [RUNTIME_LABEL]: provider } } : {}) };
  return { kind: 'patch', patch: { metadata, spec: changes }, fields };
}

/** `undefined` where nothing changes. */
function withResource(existing: ExportedResource[], wanted: ExportedResource): ExportedResource[] | undefined {
  const same = (each: ExportedResource): boolean => each.group === wanted.group && each.name === wanted.name;
  const found = existing.find(same);
  if (!found) return [...existing, wanted];
  if (found.schema === wanted.schema && found.storage?.['crd']) return undefined;
  return existing.map((each) => (same(each) ? wanted : each));
}

/** `undefined` where nothing changes. Verbs are compared as sets, since kcp and people may order them differently. */
function withClaims(
  existing: PermissionClaim[],
  ours: PermissionClaim[],
  before: ReadonlySet<string>,
): PermissionClaim[] | undefined {
  const wanted = new Map(ours.map((claim) => [claimName(claim), claim]));
  const result: PermissionClaim[] = [];
  let changed = false;
  for (const claim of existing) {
    const key = claimName(claim);
    const mine = wanted.get(key);
    wanted.delete(key);
    if (!mine) {
      if (before.has(key)) changed = true;
      else result.push(claim);
      continue;
    }
    // A claim that somebody else made first keeps the verbs that it has.
    const verbs = before.has(key) ? mine.verbs : [...new Set([...claim.verbs, ...mine.verbs])];
    const identityHash = mine.identityHash ?? claim.identityHash;
    if (sameSet(verbs, claim.verbs) && (identityHash ?? '') === (claim.identityHash ?? '')) result.push(claim);
    else {
      changed = true;
      result.push({ ...claim, verbs, ...(identityHash === undefined ? {} : { identityHash }) });
    }
  }
  return changed || wanted.size > 0 ? [...result, ...wanted.values()] : undefined;
}

/** One claim a resource, as kcp demands; group is always there. */
function mergeClaims(claims: readonly PermissionClaim[]): PermissionClaim[] {
  const merged = new Map<string, PermissionClaim>();
  for (const claim of claims) {
    const before = merged.get(claimName(claim));
    const verbs = [...new Set([...(before?.verbs ?? []), ...claim.verbs])];
    merged.set(claimName(claim), { group: '', ...before, ...claim, verbs });
  }
  return [...merged.values()];
}

function sameSet(a: readonly string[], b: readonly string[]): boolean {
  const inB = new Set(b);
  return new Set(a).size === inB.size && a.every((each) => inB.has(each));
}
