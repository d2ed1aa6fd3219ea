import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { schemaOf } from '../../../../../shared/provider/schema/schema-of.ts';
import { RuntimeError } from '../../../../../shared/errors.ts';

const fieldOf = (field: z.ZodType): unknown => {
  const schema = schemaOf(z.object({ field }), 'spec');
  return (schema['properties'] as Record<string, unknown>)['field'];
};

const requiredOf = (shape: z.ZodRawShape): unknown => schemaOf(z.object(shape), 'spec')['required'];

const ANY = { 'x-kubernetes-preserve-unknown-fields': true };

describe('a Zod type becomes a structural schema', () => {
  const cases: [string, z.ZodType, object][] = [
    ['string', z.string(), { type: 'string' }],
    ['description', z.string().describe('why'), { type: 'string', description: 'why' }],
    ['length', z.string().min(1).max(3), { type: 'string', minLength: 1, maxLength: 3 }],
    ['pattern', z.string().regex(/^a/), { type: 'string', pattern: '^a' }],
    ['two patterns', z.string().regex(/a/).regex(/b/), { type: 'string', allOf: [{ pattern: 'a' }, { pattern: 'b' }] }],
    ['refinement', z.string().refine((text) => text !== ''), { type: 'string' }],
    ['url', z.url(), { type: 'string', format: 'uri' }],
    ['hostname, whose pattern RE2 can not do', z.hostname(), { type: 'string', format: 'hostname' }],
    ['base64', z.base64(), expect.objectContaining({ type: 'string', format: 'byte' }) as object],
    ['a format that Kubernetes ignores', z.ulid(), { type: 'string', pattern: expect.any(String) as string }],
    ['boolean', z.boolean(), { type: 'boolean' }],
    ['number', z.number(), { type: 'number' }],
    ['int', z.int(), { type: 'integer', format: 'int64' }],
    ['int as a check', z.number().int().max(9), { type: 'integer', format: 'int64', maximum: 9 }],
    ['int32', z.int32(), { type: 'integer', format: 'int32', minimum: -(2 ** 31), maximum: 2 ** 31 - 1 }],
    ['uint32', z.uint32(), { type: 'integer', format: 'int64', minimum: 0, maximum: 2 ** 32 - 1 }],
    ['float32', z.float32(), { type: 'number', format: 'float' }],
    ['float64', z.float64(), { type: 'number', format: 'double' }],
    ['exclusive bound', z.number().positive(), { type: 'number', minimum: 0, exclusiveMinimum: true }],
    ['multiple', z.number().multipleOf(5), { type: 'number', multipleOf: 5 }],
    ['enum', z.enum(['a', 'b']), { type: 'string', enum: ['a', 'b'] }],
    ['enum of numbers', z.enum({ one: 1, two: 2 }), { type: 'number', enum: [1, 2] }],
    ['literal', z.literal('a'), { type: 'string', enum: ['a'] }],
    ['union of literals', z.union([z.literal('a'), z.literal('b')]), { type: 'string', enum: ['a', 'b'] }],
    ['union of enums', z.union([z.enum(['a', 'b']), z.enum(['b', 'c'])]), { type: 'string', enum: ['a', 'b', 'c'] }],
    ['int or string', z.union([z.int(), z.string()]), { 'x-kubernetes-int-or-string': true }],
    ['nullable', z.string().nullable(), { type: 'string', nullable: true }],
    ['union with null', z.union([z.string(), z.null()]), { type: 'string', nullable: true }],
    ['default', z.string().default('a'), { type: 'string', default: 'a' }],
    [
      'prefault',
      z.object({ a: z.string().default('b') }).prefault({}),
      {
        type: 'object',
        default: {},
        properties: { a: { type: 'string', default: 'b' } },
      },
    ],
    ['readonly', z.string().readonly(), { type: 'string' }],
    [
      'array',
      z.array(z.string()).min(1).max(3),
      { type: 'array', items: { type: 'string' }, minItems: 1, maxItems: 3 },
    ],
    [
      'record',
      z.record(z.string(), z.int()),
      {
        type: 'object',
        additionalProperties: { type: 'integer', format: 'int64' },
      },
    ],
    ['record of anything', z.record(z.string(), z.unknown()), { type: 'object', additionalProperties: ANY }],
    ['any', z.any(), ANY],
    ['unknown', z.unknown().describe('free'), { ...ANY, description: 'free' }],
    [
      'strict object',
      z.strictObject({ a: z.string() }),
      {
        type: 'object',
        properties: { a: { type: 'string' } },
        required: ['a'],
      },
    ],
    [
      'loose object',
      z.looseObject({ a: z.string().optional() }),
      {
        type: 'object',
        properties: { a: { type: 'string' } },
        ...ANY,
      },
    ],
    [
      'template literal',
      z.templateLiteral(['v', z.int()]),
      {
        type: 'string',
        pattern: expect.stringContaining('v') as string,
      },
    ],
    [
      'extensions of Kubernetes',
      z.array(z.string()).meta({ 'x-kubernetes-list-type': 'set', internal: 1 }),
      {
        type: 'array',
        items: { type: 'string' },
        'x-kubernetes-list-type': 'set',
      },
    ],
  ];
  test.each(cases)('%s', (_name, type, expected) => {
    expect(fieldOf(type)).toEqual(expected);
  });

  test('what may be left out is not required', () => {
    const optional = { a: z.string().optional(), b: z.string().default('b'), c: z.string().nullish() };
    expect(requiredOf(optional)).toBeUndefined();
    expect(requiredOf({ ...optional, z: z.string(), y: z.string().nullable() })).toEqual(['y', 'z']);
  });

  test('nothing of JSON Schema that structural schemas forbid is left', () => {
    const schema = schemaOf(z.strictObject({ a: z.strictObject({ b: z.literal('c') }) }), 'spec');
    expect(JSON.stringify(schema)).not.toMatch(/\$schema|additionalProperties|const/);
  });
});

describe('what a CRD can not express is refused with the field and a remedy', () => {
  interface Node {
    next?: Node | undefined;
  }
  const node: z.ZodType<Node> = z.object({
    get next() {
      return node.optional();
    },
  });
  let count = 0;
  const cases: [string, z.ZodType, RegExp][] = [
    ['date', z.date(), /spec\.field: z\.date .* z\.iso\.datetime/],
    ['rule on keys', z.record(z.string().min(2), z.string()), /spec\.field: .*keys of a record.*self\.all\(/],
    ['pattern of keys', z.record(z.string().regex(/^a/), z.string()), /spec\.field: .*keys of a record/],
    ['format of keys', z.record(z.email(), z.string()), /spec\.field: .*keys of a record/],
    ['keys that match', z.looseRecord(z.string().regex(/^a/), z.string()), /spec\.field: .*keys of a record/],
    [
      'rules on keys further down',
      z.array(z.record(z.string().max(3), z.int())),
      /spec\.field\[\]: .*keys of a record/,
    ],
    [
      'rule on a property',
      z.string().check(z.property('length', z.literal(3))),
      /spec\.field: z\.property .*validations/,
    ],
    ['format that nobody checks', z.jwt(), /spec\.field: .*format jwt.*\.regex/],
    ['format in code', z.stringFormat('mine', () => true), /spec\.field: .*format mine.*\.regex/],
    ['host of an address', z.url({ hostname: /example/ }), /spec\.field: z\.url .*\.regex/],
    ['protocol of an address', z.httpUrl(), /spec\.field: z\.url .*\.regex/],
    ['format in a union', z.union([z.url(), z.int()]), /spec\.field: a union is only possible/],
    ['set by keyword', z.array(z.string()).meta({ uniqueItems: true }), /spec\.field: uniqueItems .*list-type.*set/],
    ['other keywords', z.string().meta({ if: {} }), /spec\.field: if .*x-kubernetes-validations/],
    ['sticky pattern', z.string().regex(/a/y), /spec\.field: the flags/],
    ['tuple', z.tuple([z.string()]), /spec\.field: z\.tuple/],
    ['union of different types', z.union([z.string(), z.boolean()]), /spec\.field: a union is only possible/],
    [
      'discriminated union',
      z.discriminatedUnion('t', [z.object({ t: z.literal('a') }), z.object({ t: z.literal('b') })]),
      /spec\.field: a union is only possible/,
    ],
    ['enum of mixed types', z.literal(['a', 1]), /spec\.field: all values of an enum must be of one type/],
    ['null alone', z.null(), /spec\.field: a literal or enum can not be null/],
    ['nullable enum', z.enum(['a']).nullable(), /spec\.field: a literal or enum can not be null .* \.optional/],
    ['enum or null', z.union([z.literal('a'), z.null()]), /spec\.field: a literal or enum can not be null/],
    ['transform', z.string().transform((text) => text.length), /spec\.field: z\.pipe .* createOrUpdate/],
    ['transform behind a default', z.string().transform(Number).default(1), /spec\.field: z\.pipe/],
    ['preprocess', z.preprocess((value) => value, z.string()), /spec\.field: z\.pipe/],
    ['catch', z.string().catch('a'), /spec\.field: z\.catch .*\.default/],
    ['bigint', z.bigint(), /spec\.field: z\.bigint .* z\.int/],
    ['set', z.set(z.string()), /spec\.field: z\.set .*list-type/],
    ['map', z.map(z.string(), z.string()), /spec\.field: z\.map .* z\.record/],
    ['intersection', z.intersection(z.object({}), z.object({})), /spec\.field: z\.intersection .*\.extend/],
    ['never', z.never(), /spec\.field: z\.never/],
    ['undefined', z.undefined(), /spec\.field: z\.undefined/],
    ['custom', z.custom<string>(), /spec\.field: z\.custom/],
    ['catchall', z.object({ a: z.string() }).catchall(z.string()), /spec\.field: named fields and a catchall/],
    ['record with known keys', z.record(z.enum(['a']), z.string()), /spec\.field: the keys of a record/],
    ['look-ahead', z.string().regex(/^(?!a)/), /spec\.field: pattern .*RE2/],
    ['flags', z.string().regex(/a/i), /spec\.field: the flags i, m, s and y/],
    ['shared definition', z.string().meta({ id: 'shared' }), /spec\.field: references are not possible/],
    ['recursive type', node, /spec: no recursive types/],
    ['changing default', z.int().default(() => ++count), /spec: a default changes/],
    ['in an array', z.array(z.object({ at: z.date() })), /spec\.field\[\]\.at: z\.date/],
    ['in a record', z.record(z.string(), z.date()), /spec\.field\.\*: z\.date/],
    ['in a union', z.union([z.string(), z.date()]), /spec\.field: z\.date/],
  ];
  test.each(cases)('%s', (_name, type, message) => {
    expect(() => fieldOf(type)).toThrow(message);
    expect(() => fieldOf(type)).toThrow(RuntimeError);
  });
});
