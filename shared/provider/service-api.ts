import { z } from 'zod';
import { RuntimeError } from '../errors.ts';
import { CLUSTER_LABEL } from '../names.ts';
import { apiResourceSchemaOf, type Crd, crdOf, resourceTypeOf } from './schema/crd.ts';
import { PRINTER_COLUMNS, SERVICE_STATUS, TYPE_META } from './schema/fixed-schemas.ts';
import { schemaOf } from './schema/schema-of.ts';
import type { JsonSchema } from './schema/structural.ts';
import type { ServiceApi } from './types.ts';

export interface ServiceApiOptions<Spec extends z.ZodObject> {
  /** API group, such as `foo.services.open-control-plane.io`. */
  group: string;
  version: string;
  kind: string;
  /** Default: the English plural of `kind`, lower case. */
  plural?: string;
  shortNames?: string[];
  /** What a tenant writes. What a CRD can't express is refused; see `structural`. */
  spec: Spec;
  /**
   * The provider's own status fields, beside phase, observedGeneration, conditions and resources. All of them are
   * optional in the CRD, since status is written before a provider has set them.
   */
  status?: z.ZodObject;
}

/** An API whose CRD exists already, e.g. generated from Go. */
export interface ExistingCrdOptions<Spec extends z.ZodType> {
  /** The whole object, as read from its file. */
  crd: object;
  /** For types and checks in TypeScript; default: any object. */
  spec?: Spec;
}

type AnySpec = z.ZodRecord<z.ZodString, z.ZodUnknown>;

/**
 * Declares what a tenant creates; always namespaced, with a status subresource and the columns Phase and Age.
 * @throws RuntimeError `INVALID_PROVIDER` naming the field and the remedy
 */
export function serviceApi<Spec extends z.ZodObject>(options: ServiceApiOptions<Spec>): ServiceApi<Spec>;
export function serviceApi<Spec extends z.ZodType = AnySpec>(options: ExistingCrdOptions<Spec>): ServiceApi<Spec>;
export function serviceApi(
  options: ServiceApiOptions<z.ZodObject> | ExistingCrdOptions<z.ZodType>,
): ServiceApi<z.ZodType> {
  return 'crd' in options ? fromCrd(options) : fromZod(options);
}

function fromZod(options: ServiceApiOptions<z.ZodObject>): ServiceApi<z.ZodType> {
  const type = resourceTypeOf(options, true);
  const schema: JsonSchema = {
    type: 'object',
    description: `${options.kind} orders the service for one tenant.`,
    properties: {
      ...TYPE_META,
      spec: schemaOf(options.spec, 'spec'),
      status: statusSchema(options.status),
    },
    required: ['spec'],
  };
  const crd = crdOf({ type, cluster: 'onboarding', shortNames: options.shortNames, schema, columns: PRINTER_COLUMNS });
  return withCrd(type, options.spec, crd);
}

function statusSchema(own: z.ZodObject | undefined): JsonSchema {
  const fields = own ? (schemaOf(own, 'status')['properties'] as Record<string, JsonSchema>) : {};
  for (const taken of ['phase', 'observedGeneration', 'conditions'])
    if (taken in fields)
      throw new RuntimeError('INVALID_PROVIDER', `status.${taken}: the runtime writes this field; choose another name`);
  return { type: 'object', ...SERVICE_STATUS, properties: { ...SERVICE_STATUS.properties, ...fields } };
}

function fromCrd(options: ExistingCrdOptions<z.ZodType>): ServiceApi<z.ZodType> {
  const crd = structuredClone(options.crd) as Crd;
  const fail = (problem: string): never => {
    throw new RuntimeError('INVALID_PROVIDER', `CRD ${crd.metadata?.name ?? 'without a name'}: ${problem}`);
  };
  const version = crd.spec?.versions?.find((each) => each.storage);
  if (crd.kind !== 'CustomResourceDefinition' || !version)
    return fail('not a CustomResourceDefinition with a stored version');
  if (crd.spec.scope !== 'Namespaced') fail('spec.scope must be Namespaced');
  if (crd.spec.conversion && crd.spec.conversion.strategy !== 'None')
    fail('conversion webhooks are not supported; serve one version, or versions with one schema');
  if (!version.subresources?.['status']) fail(`version ${version.name} must have the status subresource`);
  const properties = version.schema.openAPIV3Schema['properties'] as Record<string, JsonSchema> | undefined;
  const status = properties?.['status']?.['properties'] as Record<string, JsonSchema> | undefined;
  for (const field of ['phase', 'observedGeneration', 'conditions'])
    if (!status?.[field]) fail(`version ${version.name} must have status.${field}`);
  crd.metadata.labels = { [CLUSTER_LABEL]: 'onboarding', ...crd.metadata.labels };
  const { group, names } = crd.spec;
  const type = resourceTypeOf({ group, version: version.name, kind: names.kind, plural: names.plural }, true);
  return withCrd(type, options.spec ?? z.record(z.string(), z.unknown()), crd);
}

function withCrd(type: ServiceApi<z.ZodType>['type'], spec: z.ZodType, crd: Crd): ServiceApi<z.ZodType> {
  return {
    type,
    spec,
    crd: () => structuredClone(crd),
    apiResourceSchema: () => structuredClone(apiResourceSchemaOf(crd)),
  };
}
