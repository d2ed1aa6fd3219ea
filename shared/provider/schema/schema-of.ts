import { z } from 'zod';
import { messageOf, RuntimeError } from '../../errors.ts';
import { type JsonSchema, NOT_IN_RE2, REFUSED, structural } from './structural.ts';

const POSSIBLE = new Set(
  (
    'string number boolean object array record enum literal null union optional nullable nonoptional default prefault ' +
    'readonly any unknown lazy template_literal'
  ).split(' '),
);
const REMEDIES: Readonly<Record<string, string>> = {
  date: 'dates are strings in JSON; use z.iso.datetime()',
  bigint: 'use z.int()',
  tuple: 'use an object, or an array of one type',
  set: "use z.array(…).meta({ 'x-kubernetes-list-type': 'set' })",
  map: 'use z.record(z.string(), …)',
  intersection: 'use .extend(…)',
  catch: 'use .default(…)',
  pipe: 'the API server stores what was written; transform it in createOrUpdate',
  transform: 'the API server stores what was written; transform it in createOrUpdate',
};
/** Kubernetes' names for Zod's number formats. */
const NUMBER_FORMATS: Readonly<Record<string, string>> = {
  safeint: 'int64',
  uint32: 'int64',
  int32: 'int32',
  float32: 'float',
  float64: 'double',
};

type Definition = z.core.$ZodTypeDef & {
  keyType?: z.core.$ZodType;
  values?: unknown[];
  pattern?: RegExp;
  format?: string;
  checks?: z.core.$ZodCheck[];
  hostname?: RegExp;
  protocol?: RegExp;
};

const KEYS =
  'rules on the keys of a record get lost in a CRD; make them z.string() and write the rule as ' +
  ".meta({ maxProperties: 64, 'x-kubernetes-validations': [{ rule: \"self.all(key, key.matches('^a'))\" }] })";

/**
 * The structural OpenAPI v3 schema of what a user may write (Zod's input side), deterministic. Checks that only code can
 * make (`.refine`) are not in it.
 * @param path of the field, for error texts
 * @throws RuntimeError `INVALID_PROVIDER` naming the field and the remedy for constructs that a CRD can't express
 */
export function schemaOf(type: z.ZodType, path: string): JsonSchema {
  const json = toJson(type, path);
  // A default that is made anew each time would change the schema, and so its name, with every start.
  if (JSON.stringify(json) !== JSON.stringify(toJson(type, path)))
    throw new RuntimeError(
      'INVALID_PROVIDER',
      `schema of ${path}: a default changes from call to call; make it constant`,
    );
  return structural(json, path);
}

function toJson(type: z.ZodType, path: string): JsonSchema {
  try {
    return z.toJSONSchema(type, {
      target: 'openapi-3.0',
      io: 'input',
      unrepresentable: 'any',
      cycles: 'throw',
      reused: 'inline',
      override({ zodSchema, jsonSchema }) {
        const definition = zodSchema._zod.def as unknown as Definition;
        const reason = refusal(definition);
        if (reason) jsonSchema[REFUSED] = reason;
        const format = definition.type === 'number' && numberFormat(definition);
        if (format) jsonSchema.format = format;
        if (isCheckedByFormat(definition, jsonSchema)) delete jsonSchema.pattern;
      },
    });
  } catch (error) {
    throw new RuntimeError(
      'INVALID_PROVIDER',
      `schema of ${path}: no recursive types in a CRD; ${messageOf(error).split('\n')[0]}`,
      { cause: error },
    );
  }
}

/** The format is on the type itself (`z.int32()`) or on one of its checks (`z.number().int()`). */
function numberFormat({ format, checks = [] }: Definition): string | undefined {
  const own = [format, ...checks.map((check) => (check._zod.def as { format?: string }).format)];
  return own.map((each) => NUMBER_FORMATS[each ?? '']).find((each) => each !== undefined);
}

/** Zod's own patterns for these are more than RE2 can do, and Kubernetes knows the formats. */
function isCheckedByFormat({ type, format }: Definition, { pattern }: JsonSchema): boolean {
  const known = format === 'hostname' || format === 'email';
  return type === 'string' && known && typeof pattern === 'string' && NOT_IN_RE2.test(pattern);
}

function refusal(definition: Definition): string | undefined {
  const { type, keyType, values, pattern, checks } = definition;
  if (!POSSIBLE.has(type)) return `z.${type} is not possible in a CRD; ${REMEDIES[type] ?? 'remove it'}`;
  if (type === 'record' && keyType?._zod.def.type !== 'string')
    return 'the keys of a record must be z.string(); use z.object(…) for known ones';
  const key: Definition | undefined = keyType?._zod.def;
  if (type === 'record' && (key?.format !== undefined || (key?.checks ?? []).length > 0)) return KEYS;
  const own = [definition, ...(checks ?? []).map((check) => check._zod.def as unknown as Definition)];
  if (own.some(({ hostname, protocol }) => hostname ?? protocol))
    return 'z.url with a hostname or protocol gets lost in a CRD; use .regex(…) for these';
  if ((checks ?? []).some((check) => check._zod.def.check === 'property'))
    return "z.property gets lost in a CRD; write it as .meta({ 'x-kubernetes-validations': […] })";
  if (type === 'literal' && values?.some((value) => value === undefined || typeof value === 'bigint'))
    return 'literals must be strings, numbers, booleans or null';
  const patterns = [pattern, ...(checks ?? []).map((check) => (check._zod.def as { pattern?: RegExp }).pattern)];
  if (patterns.some((each) => each && /[imsy]/.test(each.flags)))
    return 'the flags i, m, s and y of a regular expression get lost in a CRD; write it without, e.g. [a-zA-Z]';
  return undefined;
}
