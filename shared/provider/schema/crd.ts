import { createHash } from 'node:crypto';
import { RuntimeError } from '../../errors.ts';
import type { ResourceType } from '../../model/kubernetes.ts';
import { CLUSTER_LABEL } from '../../names.ts';
import type { JsonSchema } from './structural.ts';

interface CrdVersion {
  name: string;
  served: boolean;
  storage: boolean;
  deprecated?: boolean;
  deprecationWarning?: string;
  schema: { openAPIV3Schema: JsonSchema };
  subresources?: Record<string, unknown>;
  additionalPrinterColumns?: readonly Record<string, unknown>[];
}

/** `apiextensions.k8s.io/v1` CustomResourceDefinition, as far as the runtime reads or writes it. */
export interface Crd {
  apiVersion: 'apiextensions.k8s.io/v1';
  kind: 'CustomResourceDefinition';
  metadata: { name: string; labels?: Record<string, string>; annotations?: Record<string, string> };
  spec: {
    group: string;
    names: { kind: string; listKind?: string; plural: string; singular?: string; shortNames?: readonly string[] };
    scope: 'Namespaced' | 'Cluster';
    versions: CrdVersion[];
    conversion?: { strategy: string };
  };
}

export interface CrdOptions {
  type: ResourceType;
  /** Onto which kind of cluster it belongs; other tooling selects by this label. */
  cluster: 'onboarding' | 'platform';
  shortNames?: readonly string[] | undefined;
  schema: JsonSchema;
  columns?: readonly Record<string, unknown>[];
}

export function crdOf({ type, cluster, shortNames, schema, columns }: CrdOptions): Crd {
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${type.plural}.${type.group}`, labels: { [CLUSTER_LABEL]: cluster } },
    spec: {
      group: type.group,
      names: {
        kind: type.kind,
        listKind: `${type.kind}List`,
        plural: type.plural,
        singular: type.kind.toLowerCase(),
        ...(shortNames?.length ? { shortNames } : {}),
      },
      scope: type.namespaced ? 'Namespaced' : 'Cluster',
      versions: [
        {
          name: type.version,
          served: true,
          storage: true,
          ...(columns ? { additionalPrinterColumns: columns } : {}),
          schema: { openAPIV3Schema: schema },
          subresources: { status: {} },
        },
      ],
    },
  };
}

/** `apis.kcp.io/v1alpha1` APIResourceSchema. */
export interface ApiResourceSchema extends Record<string, unknown> {
  metadata: { name: string };
  spec: { group: string; names: Crd['spec']['names']; scope: string; versions: ResourceVersion[] };
}

interface ResourceVersion extends Omit<CrdVersion, 'schema'> {
  schema: JsonSchema;
}

/** The kcp twin of a CRD. kcp holds them immutable, so the name changes exactly when the content does. */
export function apiResourceSchemaOf(crd: Crd): ApiResourceSchema {
  const { group, names, scope, versions } = crd.spec;
  const spec = {
    group,
    names,
    scope,
    // kcp wants each schema without the wrapper that CRDs have.
    versions: versions.map(({ schema, ...version }) => ({
      ...version,
      subresources: version.subresources ?? {},
      schema: schema.openAPIV3Schema,
    })),
    ...(versions.length > 1 ? { conversion: { strategy: 'None' } } : {}),
  };
  const hash = createHash('sha256').update(stableJson(spec)).digest('hex').slice(0, 8);
  return {
    apiVersion: 'apis.kcp.io/v1alpha1',
    kind: 'APIResourceSchema',
    metadata: { name: `v${hash}.${names.plural}.${group}` },
    spec,
  };
}

/** JSON that does not depend on the order in which fields were written. */
export function stableJson(value: unknown): string {
  return JSON.stringify(value, (_key, field: unknown) =>
    field && typeof field === 'object' && !Array.isArray(field)
      ? Object.fromEntries(Object.entries(field).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : field,
  );
}

const KIND = /^[A-Z][A-Za-z0-9]{0,62}$/;
const GROUP = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)+$/;
const VERSION = /^v[1-9][0-9]*([a-z]+[1-9][0-9]*)?$/;

/**
 * The type of an API, checked.
 * @throws RuntimeError `INVALID_PROVIDER` naming the field and the remedy
 */
export function resourceTypeOf(
  names: { group: string; version: string; kind: string; plural?: string | undefined },
  namespaced: boolean,
): ResourceType {
  const { group, version, kind } = names;
  check('group', group, GROUP, 'foo.services.open-control-plane.io');
  check('version', version, VERSION, 'v1alpha1');
  check('kind', kind, KIND, 'Foo');
  const plural = names.plural ?? pluralOf(kind);
  if (plural === undefined)
    throw new RuntimeError(
      'INVALID_PROVIDER',
      `kind ${kind}: programs do not agree on its plural; set plural to that of its CustomResourceDefinition, or to the ` +
        `one that you want, such as ${kind.toLowerCase()}s`,
    );
  check('plural', plural, /^[a-z][-a-z0-9]{0,62}$/, 'foos');
  return { group, version, kind, plural, namespaced };
}

function check(field: string, value: string, pattern: RegExp, example: string): void {
  if (!pattern.test(value))
    throw new RuntimeError('INVALID_PROVIDER', `${field} ${value}: expected something such as ${example}`);
}

/** English words of which the plural is not made as that of others; without those, many endings are regular. */
const IRREGULAR =
  /([^s]s|z|[ei]x|um|[tieudv]a|ula|[mn]na|[lr]f|[eo]af|fe|man|person|child|ouse|oose|foot|tooth|iterion|menon)$/;
const IRREGULAR_WORDS = new Set(
  'ox die half money fish sheep police rice information equipment aircraft photo piano halo mosquito data'.split(' '),
);

/**
 * The plural that kubebuilder and controller-gen give a kind, so that a provider which moves over keeps its type; undefined
 * where a word is not made regularly, and has to be named.
 */
export function pluralOf(kind: string): string | undefined {
  const name = kind.toLowerCase();
  if (IRREGULAR.test(name) || IRREGULAR_WORDS.has(name)) return undefined;
  if (/(ss|x|ch|sh)$/.test(name) || /[^io]o$/.test(name)) return `${name}es`;
  return /([^aeiou]|qu)y$/.test(name) ? `${name.slice(0, -1)}ies` : `${name}s`;
}
