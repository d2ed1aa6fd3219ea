import { equal } from '../model/json.ts';

/** A structural schema, as far as compatibility goes. */
export interface Schema {
  type?: string;
  format?: string;
  properties?: Record<string, Schema>;
  items?: Schema;
  additionalProperties?: Schema | boolean;
  required?: string[];
  enum?: unknown[];
  default?: unknown;
  nullable?: boolean;
  pattern?: string;
  multipleOf?: number;
  minimum?: number;
  maximum?: number;
  exclusiveMinimum?: boolean;
  exclusiveMaximum?: boolean;
  allOf?: Schema[];
  anyOf?: Schema[];
  'x-kubernetes-preserve-unknown-fields'?: boolean;
  'x-kubernetes-int-or-string'?: boolean;
  'x-kubernetes-list-type'?: string;
  'x-kubernetes-list-map-keys'?: string[];
  'x-kubernetes-validations'?: { rule: string; optionalOldSelf?: boolean }[];
}

/** Tells nothing about which values are valid. */
const HARMLESS = new Set(['title', 'description', 'example', 'externalDocs', 'default', 'x-kubernetes-map-type']);
/** Numbers have their bounds beside these, and API servers look at nothing else; a password is any text. */
const UNCHECKED_FORMATS = new Set(['int32', 'int64', 'float', 'double', 'password']);
const INT_OR_STRING = 'integer or string';

type Check = (before: Schema, after: Schema) => string | undefined;

const grows =
  (keyword: string): Check =>
  (before, after) => {
    const [was, now] = [numberOf(before, keyword) ?? 0, numberOf(after, keyword) ?? 0];
    return now > was ? `${keyword} was ${was}, is now ${now}` : undefined;
  };
const shrinks =
  (keyword: string): Check =>
  (before, after) => {
    const [was, now] = [numberOf(before, keyword) ?? Infinity, numberOf(after, keyword) ?? Infinity];
    return now < was ? `${keyword} was ${was === Infinity ? 'none' : was}, is now ${now}` : undefined;
  };

/** By keyword, why a value that was valid may not be so any more. One that is not among them may only stay as it was. */
const CHECKS: Readonly<Record<string, Check>> = {
  minLength: grows('minLength'),
  minItems: grows('minItems'),
  minProperties: grows('minProperties'),
  maxLength: shrinks('maxLength'),
  maxItems: shrinks('maxItems'),
  maxProperties: shrinks('maxProperties'),
  minimum: lowerBound,
  exclusiveMinimum: lowerBound,
  maximum: upperBound,
  exclusiveMaximum: upperBound,
  multipleOf: ({ multipleOf: was }, { multipleOf: now = 1 }) =>
    was !== undefined && isWhole(was / now) ? undefined : `is now a multiple of ${now}`,
  format: ({ format: was }, { format: now = '' }) =>
    was === now || UNCHECKED_FORMATS.has(now) ? undefined : `format was ${was ?? 'any'}, is now ${now}`,
  pattern: newPattern,
  allOf: (before, after) => newPattern(before, after) ?? notAmong('allOf', restOf(after), restOf(before)),
  anyOf: ({ anyOf: was }, { anyOf: now = [], 'x-kubernetes-int-or-string': either }) => {
    // So it is said a second time.
    if (either && equal(now, [{ type: 'integer' }, { type: 'string' }])) return undefined;
    const all = was?.every((each) => now.some((other) => equal(each, other)));
    return all ? undefined : 'anyOf allows less than before';
  },
  enum: ({ enum: was }, { enum: now = [] }) => {
    if (!was) return `now only allows ${now.join(', ')}`;
    const lost = was.filter((value) => !now.some((each) => equal(each, value)));
    return lost.length > 0 ? `no longer allows ${lost.join(', ')}` : undefined;
  },
  'x-kubernetes-list-type': (before, after) => {
    const [was = 'atomic', now = 'atomic'] = [before['x-kubernetes-list-type'], after['x-kubernetes-list-type']];
    return was === now || now === 'atomic' ? undefined : `was a list of type ${was}, is now one of type ${now}`;
  },
  'x-kubernetes-list-map-keys': (before, after) => {
    const [was = [], now = []] = [before['x-kubernetes-list-map-keys'], after['x-kubernetes-list-map-keys']];
    return was.every((key) => now.includes(key)) ? undefined : `elements are now told apart by ${now.join(', ')} alone`;
  },
  'x-kubernetes-validations': (before, after) => {
    const rules = (schema: Schema) =>
      (schema['x-kubernetes-validations'] ?? []).map(({ rule, optionalOldSelf = false }) => ({
        rule,
        optionalOldSelf,
      }));
    const added = rules(after).find((each) => !rules(before).some((other) => equal(each, other)));
    return added && `has a new rule, ${added.rule}`;
  },
};
/** Looked at by {@link tightened} itself, and what takes part in it. */
const ELSEWHERE = new Set(
  (
    'type x-kubernetes-int-or-string nullable x-kubernetes-preserve-unknown-fields properties additionalProperties ' +
    'items required'
  ).split(' '),
);

/**
 * Pure: why a value that is valid under the schema `before` may not be valid, or may lose something, under `after`, each
 * with its path; empty where the schema stays the same or becomes looser. Where it can't be told it counts as tightened.
 */
export function tightened(before: Schema, after: Schema, path: string): string[] {
  const [was, now] = [typeOf(before), typeOf(after)];
  if (now !== undefined && !fits(was, now)) return [`${path}: type was ${was ?? 'anything'}, is now ${now}`];
  const reasons: string[] = [];
  if (was !== undefined && before.nullable && !after.nullable && now !== undefined)
    reasons.push('no longer allows null');
  for (const keyword of Object.keys(after)) {
    if (HARMLESS.has(keyword) || ELSEWHERE.has(keyword)) continue;
    const known = CHECKS[keyword];
    const reason = known ? known(before, after) : another(keyword, before, after);
    if (reason !== undefined && !reasons.includes(reason)) reasons.push(reason);
  }
  const lost = unknownFieldsLost(before, after);
  if (lost) reasons.push(lost);
  return [...reasons.map((reason) => `${path}: ${reason}`), ...ofParts(before, after, path)];
}

function ofParts(before: Schema, after: Schema, path: string): string[] {
  const reasons: string[] = [];
  for (const name of after.required ?? []) {
    const field = after.properties?.[name];
    if (field?.default !== undefined) continue;
    if (!before.required?.includes(name)) reasons.push(`${path}.${name}: is now required`);
    else if (before.properties?.[name]?.default !== undefined)
      reasons.push(`${path}.${name}: is required, and has no default any more`);
  }
  const rest = valuesOf(after);
  for (const [name, field] of Object.entries(before.properties ?? {})) {
    const now = after.properties?.[name] ?? rest;
    if (now) reasons.push(...tightened(field, now, `${path}.${name}`));
  }
  const values = valuesOf(before) ?? (isOpen(before) ? {} : undefined);
  if (values)
    for (const [name, field] of Object.entries(after.properties ?? {}))
      if (!before.properties?.[name]) reasons.push(...tightened(values, field, `${path}.${name}`));
  if (values && rest) reasons.push(...tightened(values, rest, `${path}.*`));
  if (after.items) reasons.push(...tightened(before.items ?? {}, after.items, `${path}[]`));
  return reasons;
}

function typeOf(schema: Schema): string | undefined {
  return schema['x-kubernetes-int-or-string'] ? INT_OR_STRING : schema.type;
}

function fits(was: string | undefined, now: string): boolean {
  if (was === now) return true;
  if (now === INT_OR_STRING) return was === 'integer' || was === 'string';
  return was === 'integer' && now === 'number';
}

/** Of a map; undefined where unknown keys are dropped, or kept unseen. */
function valuesOf({ additionalProperties: values }: Schema): Schema | undefined {
  return values === true ? {} : values || undefined;
}

/** Unknown fields are kept. */
function isOpen(schema: Schema): boolean {
  return schema['x-kubernetes-preserve-unknown-fields'] === true || typeOf(schema) === undefined;
}

function unknownFieldsLost(before: Schema, after: Schema): string | undefined {
  if (typeOf(after) !== 'object' || isOpen(after) || valuesOf(after)) return undefined;
  if (isOpen(before)) return 'fields that it does not name are no longer kept';
  return valuesOf(before) ? 'keys that it does not name are no longer kept' : undefined;
}

function lowerBound(before: Schema, after: Schema): string | undefined {
  const [was, now] = [before.minimum ?? -Infinity, after.minimum ?? -Infinity];
  const excluded = now === was && after.exclusiveMinimum && !before.exclusiveMinimum;
  if (now <= was && !(excluded && now !== -Infinity)) return undefined;
  return `minimum was ${was === -Infinity ? 'none' : was}, is now ${excluded || after.exclusiveMinimum ? 'above ' : ''}${now}`;
}

function upperBound(before: Schema, after: Schema): string | undefined {
  const [was, now] = [before.maximum ?? Infinity, after.maximum ?? Infinity];
  const excluded = now === was && after.exclusiveMaximum && !before.exclusiveMaximum;
  if (now >= was && !(excluded && now !== Infinity)) return undefined;
  return `maximum was ${was === Infinity ? 'none' : was}, is now ${excluded || after.exclusiveMaximum ? 'below ' : ''}${now}`;
}

/** Several patterns stand in `allOf`; which of them stands where means nothing. */
function newPattern(before: Schema, after: Schema): string | undefined {
  const patterns = ({ pattern, allOf = [] }: Schema) => [pattern, ...allOf.map((each) => each.pattern)];
  const known = patterns(before);
  const added = patterns(after).find((each) => each !== undefined && !known.includes(each));
  return added === undefined ? undefined : `now has to match ${added}`;
}

/** What `allOf` holds beside patterns. */
function restOf({ allOf = [] }: Schema): Schema[] {
  return allOf.map(({ pattern: _pattern, ...rest }) => rest).filter((rest) => Object.keys(rest).length > 0);
}

function notAmong(keyword: string, now: readonly Schema[], was: readonly Schema[]): string | undefined {
  return now.every((each) => was.some((other) => equal(each, other)))
    ? undefined
    : `${keyword} asks for more than before`;
}

function another(keyword: string, before: Schema, after: Schema): string | undefined {
  const [was, now] = [fieldOf(before, keyword), fieldOf(after, keyword)];
  return now === false || equal(was, now) ? undefined : `${keyword} is another now`;
}

/** As exact as floating point is. */
function isWhole(number: number): boolean {
  return Math.abs(number - Math.round(number)) < 1e-9;
}

function numberOf(schema: Schema, keyword: string): number | undefined {
  return fieldOf(schema, keyword) as number | undefined;
}

function fieldOf(schema: Schema, keyword: string): unknown {
  return (schema as Record<string, unknown>)[keyword];
}
