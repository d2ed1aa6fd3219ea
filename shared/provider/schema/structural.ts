import { RuntimeError } from '../../errors.ts';

/** A schema in JSON, before or after {@link structural}. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** Set by `schemaOf` on what can't be expressed; its value is the reason and the remedy. */
export const REFUSED = 'x-refused';

/** Keywords that mean the same in a structural schema and are taken over as they are. */
const KEPT = new Set(
  (
    'type description title default enum nullable example pattern multipleOf minLength maxLength minimum maximum ' +
    'exclusiveMinimum exclusiveMaximum minItems maxItems minProperties maxProperties'
  ).split(' '),
);
/** Formats that Kubernetes checks (`supportedFormats` of apiextensions-apiserver); it ignores others, with a warning. */
const FORMATS = new Set(
  (
    'uri email hostname ipv4 ipv6 cidr mac uuid uuid3 uuid4 uuid5 byte password date duration date-time int32 int64 ' +
    'float double'
  ).split(' '),
);
/** Bounds that only say how JavaScript holds a number. Those of int32 stay: API servers don't check that format. */
const NOISE: Readonly<Record<string, readonly [number, number]>> = {
  int64: [Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER],
  float: [-3.4028234663852886e38, 3.4028234663852886e38],
  double: [-Number.MAX_VALUE, Number.MAX_VALUE],
};
/** What JavaScript's patterns have and RE2, in which API servers check them, has not. */
export const NOT_IN_RE2 = /\(\?<?[=!]|\\[1-9]|\\k<|\\u|\\p\{\w{3,}\}/;

/** Constraints of JSON Schema, from `.meta({…})`, that a structural schema has no word for. */
const UNSAID = (
  'uniqueItems patternProperties propertyNames contains minContains maxContains dependencies dependentRequired ' +
  'dependentSchemas if then else prefixItems additionalItems unevaluatedItems unevaluatedProperties'
).split(' ');
const RULE = "write it as a rule in .meta({ 'x-kubernetes-validations': […] })";
const REMEDIES: Readonly<Record<string, string>> = {
  uniqueItems: "use .meta({ 'x-kubernetes-list-type': 'set' })",
};

const INT_OR_STRING = { 'x-kubernetes-int-or-string': true };
const ANYTHING = 'x-kubernetes-preserve-unknown-fields';

/**
 * Turns an OpenAPI 3.0 schema, as Zod writes it, into a structural schema as CustomResourceDefinitions demand it
 * (https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#specifying-a-structural-schema).
 * `x-kubernetes-*` keywords given by `.meta({…})` are kept, e.g. `x-kubernetes-validations`.
 * @param path of the field, for error texts, e.g. `spec.versions[]`
 * @throws RuntimeError `INVALID_PROVIDER` naming the field and the remedy for what a structural schema can't say
 */
export function structural(schema: JsonSchema, path: string): JsonSchema {
  const fail = (problem: string): never => {
    throw new RuntimeError('INVALID_PROVIDER', `schema of ${path}: ${problem}`);
  };
  if (typeof schema[REFUSED] === 'string') fail(schema[REFUSED]);
  if ('$ref' in schema)
    fail('references are not possible in a CRD; remove the id in .meta(…), write recursive types out');
  for (const keyword of UNSAID)
    if (keyword in schema) fail(`${keyword} is not possible in a CRD; ${REMEDIES[keyword] ?? RULE}`);
  if ('not' in schema) fail('a field that may never be there; remove it');
  const members = (schema['anyOf'] ?? schema['oneOf']) as JsonSchema[] | undefined;
  if (members) return withoutNull({ ...union(members, path, fail), ...kept(schema) }, fail);

  const values = 'const' in schema ? { enum: [schema['const']] } : {};
  const result = withoutNull({ ...values, ...kept(schema) }, fail);
  checkPatterns(schema, result, fail);
  checkFormat(schema, result, fail);
  switch (schema['type']) {
    case 'object':
      return { ...result, ...objectFields(schema, path, fail) };
    case 'array':
      return { ...result, items: structural((schema['items'] ?? {}) as JsonSchema, `${path}[]`) };
    case 'number':
    case 'integer':
      return withoutNoise(result);
    case 'string':
    case 'boolean':
      return result;
    case undefined:
      if (result['enum']) fail('all values of an enum must be of one type');
      return { ...result, [ANYTHING]: true };
    default:
      return fail(`type ${String(schema['type'])} is not possible in a CRD`);
  }
}

type Fail = (problem: string) => never;

function kept(schema: JsonSchema): Record<string, unknown> {
  const result: Record<string, unknown> = {};
  for (const [keyword, value] of Object.entries(schema))
    if (KEPT.has(keyword) || keyword.startsWith('x-kubernetes-')) result[keyword] = value;
  const format = schema['format'] === 'base64' ? 'byte' : schema['format'];
  if (typeof format === 'string' && FORMATS.has(format)) result['format'] = format;
  return result;
}

/** API servers refuse null for an enum whatever the schema says (tried with kcp 0.30, Kubernetes 1.34). */
function withoutNull(schema: Record<string, unknown>, fail: Fail): Record<string, unknown> {
  if (schema['nullable'] === true && schema['enum'])
    fail('a literal or enum can not be null in a CRD; use .optional(), or add a value such as "None"');
  return schema;
}

function withoutNoise(schema: Record<string, unknown>): JsonSchema {
  const [least, greatest] = NOISE[schema['format'] as string] ?? [];
  if (least !== undefined && schema['minimum'] === least) delete schema['minimum'];
  if (greatest !== undefined && schema['maximum'] === greatest) delete schema['maximum'];
  return schema;
}

function checkPatterns(schema: JsonSchema, result: Record<string, unknown>, fail: Fail): void {
  const several = (schema['allOf'] ?? []) as JsonSchema[];
  // Inside allOf a structural schema may only hold value checks, no type.
  if (several.length > 0) result['allOf'] = several.map(({ pattern }) => ({ pattern }));
  for (const { pattern } of [schema, ...several])
    if (typeof pattern === 'string' && NOT_IN_RE2.test(pattern))
      fail(
        `pattern ${pattern} uses look-around, back references, \\u or \\p{…}, which API servers (RE2) can't; write it without`,
      );
}

/** Zod checks some formats by a pattern, which is taken over, and others in code. */
function checkFormat(schema: JsonSchema, result: Record<string, unknown>, fail: Fail): void {
  const { type, format } = schema;
  const isChecked = ['format', 'pattern', 'allOf'].some((keyword) => keyword in result);
  if (type !== 'string' || typeof format !== 'string' || isChecked) return;
  fail(`API servers do not check the format ${format}; write it as .regex(…)`);
}

function objectFields(schema: JsonSchema, path: string, fail: Fail): JsonSchema {
  const additional = schema['additionalProperties'] as JsonSchema | boolean | undefined;
  const open = additional !== undefined && additional !== false;
  const values = typeof additional === 'object' ? additional : {};
  const properties = schema['properties'] as Record<string, JsonSchema> | undefined;
  if (!properties) return open ? { additionalProperties: structural(values, `${path}.*`) } : { [ANYTHING]: true };
  if (open && Object.keys(values).length > 0)
    fail('named fields and a catchall can not be mixed in a CRD; put the free ones into a field of z.record(…)');
  const required = ((schema['required'] ?? []) as string[]).toSorted();
  return {
    properties: Object.fromEntries(
      Object.entries(properties).map(([name, field]) => [name, structural(field, `${path}.${name}`)]),
    ),
    ...(required.length > 0 ? { required } : {}),
    ...(open ? { [ANYTHING]: true } : {}),
  };
}

function union(members: readonly JsonSchema[], path: string, fail: Fail): JsonSchema {
  const flat = members.flatMap((member) => (member['anyOf'] as JsonSchema[] | undefined) ?? [member]);
  const isNull = (member: JsonSchema): boolean =>
    Array.isArray(member['enum']) && member['enum'].every((value) => value === null);
  const rest = flat.filter((member) => !isNull(member));
  const nullable = rest.length < flat.length ? { nullable: true } : {};
  const converted = rest.map((member) => structural(member, path));
  const [first] = converted;
  if (first && converted.length === 1) return { ...first, ...nullable };

  const values = converted.flatMap((member) => (member['enum'] as unknown[] | undefined) ?? []);
  if (first && converted.every((member) => Array.isArray(member['enum']) && member['type'] === first['type']))
    return { type: first['type'], enum: [...new Set(values)], ...nullable };
  const plain = converted.map((member) =>
    Object.keys(member).every((key) => key === 'type' || (key === 'format' && member['type'] === 'integer')),
  );
  const types = converted.map((member) => String(member['type'])).toSorted();
  if (types.join() === 'integer,string' && plain.every(Boolean)) return { ...INT_OR_STRING, ...nullable };
  return fail(
    'a union is only possible between literals or enums of one type, with null, or of z.string() and z.int(); use one object with optional fields',
  );
}
