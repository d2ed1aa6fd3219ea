import { describe, expect, test } from 'vitest';
import { tightened } from '../../../../shared/kcp/decide-tightened.ts';

const of = (before: object, after: object): string[] => tightened(before, after, 'x');
const text = (more: object = {}) => ({ type: 'string', ...more });
const number = (more: object = {}) => ({ type: 'number', ...more });
const list = (more: object = {}, items: object = text()) => ({ type: 'array', items, ...more });
const object = (properties: object, more: object = {}) => ({ type: 'object', properties, ...more });
const map = (values: object | true, more: object = {}) => ({ type: 'object', additionalProperties: values, ...more });
const rule = (of: string, more: object = {}) => ({ 'x-kubernetes-validations': [{ rule: of, ...more }] });
const OPEN = { 'x-kubernetes-preserve-unknown-fields': true };
const EITHER = { 'x-kubernetes-int-or-string': true };
const NAMED = { 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['name'] };
const SET = { 'x-kubernetes-list-type': 'set' };
const named = list(NAMED, object({ name: text(), port: text() }, { required: ['name', 'port'] }));
const named2 = { ...named, 'x-kubernetes-list-map-keys': ['name', 'port'] };

/** Each is refused in this direction, and passes in the other, unless it says otherwise. */
const TIGHTER: [string, object, object, string, 'both ways'?][] = [
  ['type: of anything', OPEN, text(), 'x: type was anything, is now string'],
  ['type: another', text(), number(), 'x: type was string, is now number', 'both ways'],
  ['type: whole numbers', number(), { type: 'integer' }, 'x: type was number, is now integer'],
  ['type: text or number, text', EITHER, text(), 'x: type was integer or string, is now string'],
  ['type: text or number, number', EITHER, { type: 'integer' }, 'x: type was integer or string, is now integer'],
  ['nullable', text({ nullable: true }), text(), 'x: no longer allows null'],
  ['format', text(), text({ format: 'date-time' }), 'x: format was any, is now date-time'],
  [
    'format: another',
    text({ format: 'ipv4' }),
    text({ format: 'ipv6' }),
    'x: format was ipv4, is now ipv6',
    'both ways',
  ],
  ['pattern', text(), text({ pattern: '^a' }), 'x: now has to match ^a'],
  ['pattern: another', text({ pattern: '^b' }), text({ pattern: '^a' }), 'x: now has to match ^a', 'both ways'],
  [
    'pattern: one of several',
    text({ pattern: '^a' }),
    text({ allOf: [{ pattern: 'b$' }, { pattern: '^a' }] }),
    'x: now has to match b$',
  ],
  ['minLength', text(), text({ minLength: 1 }), 'x: minLength was 0, is now 1'],
  ['maxLength', text({ maxLength: 5 }), text({ maxLength: 4 }), 'x: maxLength was 5, is now 4'],
  ['maxLength: at last', text(), text({ maxLength: 0 }), 'x: maxLength was none, is now 0'],
  ['enum', text(), text({ enum: ['a'] }), 'x: now only allows a'],
  ['enum: fewer', text({ enum: ['a', 'b'] }), text({ enum: ['b'] }), 'x: no longer allows a'],
  ['minimum', number(), number({ minimum: -1 }), 'x: minimum was none, is now -1'],
  ['minimum: higher', number({ minimum: 1 }), number({ minimum: 2 }), 'x: minimum was 1, is now 2'],
  [
    'exclusiveMinimum',
    number({ minimum: 1 }),
    number({ minimum: 1, exclusiveMinimum: true }),
    'x: minimum was 1, is now above 1',
  ],
  ['maximum', number(), number({ maximum: 9 }), 'x: maximum was none, is now 9'],
  ['maximum: lower', number({ maximum: 9 }), number({ maximum: 8 }), 'x: maximum was 9, is now 8'],
  [
    'exclusiveMaximum',
    number({ maximum: 9 }),
    number({ maximum: 9, exclusiveMaximum: true }),
    'x: maximum was 9, is now below 9',
  ],
  ['multipleOf', number(), number({ multipleOf: 2 }), 'x: is now a multiple of 2'],
  ['multipleOf: fewer', number({ multipleOf: 0.1 }), number({ multipleOf: 0.3 }), 'x: is now a multiple of 0.3'],
  ['minItems', list(), list({ minItems: 1 }), 'x: minItems was 0, is now 1'],
  ['maxItems', list(), list({ maxItems: 1 }), 'x: maxItems was none, is now 1'],
  ['uniqueItems', list(), list({ uniqueItems: true }), 'x: uniqueItems is another now'],
  ['items', list({}, OPEN), list(), 'x[]: type was anything, is now string'],
  ['list type', list(), list(SET), 'x: was a list of type atomic, is now one of type set'],
  ['list keys', named2, named, 'x: elements are now told apart by name alone'],
  ['minProperties', map(text()), map(text(), { minProperties: 1 }), 'x: minProperties was 0, is now 1'],
  ['maxProperties', map(text()), map(text(), { maxProperties: 1 }), 'x: maxProperties was none, is now 1'],
  ['values of a map', map(true), map(text()), 'x.*: type was anything, is now string'],
  ['keys of a map', map(text()), object({ a: text() }), 'x: keys that it does not name are no longer kept'],
  ['unknown fields', object({}, OPEN), object({}), 'x: fields that it does not name are no longer kept'],
  [
    'a name for what was kept unseen',
    object({}, OPEN),
    object({ a: text() }, OPEN),
    'x.a: type was anything, is now string',
  ],
  ['a name among those of a map', map(OPEN), object({ a: text() }, OPEN), 'x.a: type was anything, is now string'],
  [
    'values of a map for named fields',
    object({ a: text() }),
    map(number()),
    'x.a: type was string, is now number',
    'both ways',
  ],
  ['required', object({ a: text() }), object({ a: text() }, { required: ['a'] }), 'x.a: is now required'],
  [
    'required: no default any more',
    object({ a: text({ default: 'b' }) }, { required: ['a'] }),
    object({ a: text() }, { required: ['a'] }),
    'x.a: is required, and has no default any more',
  ],
  ['a rule', text(), text(rule('self != ""')), 'x: has a new rule, self != ""'],
  [
    'a rule for new objects too',
    text(rule('a')),
    text(rule('a', { optionalOldSelf: true })),
    'x: has a new rule, a',
    'both ways',
  ],
  ['allOf', number(), number({ allOf: [{ minimum: 1 }] }), 'x: allOf asks for more than before'],
  ['anyOf', text(), text({ anyOf: [{ minLength: 3 }] }), 'x: anyOf allows less than before'],
  [
    'anyOf: fewer',
    text({ anyOf: [{ minLength: 3 }, { enum: ['a'] }] }),
    text({ anyOf: [{ minLength: 3 }] }),
    'x: anyOf allows less than before',
  ],
  ['oneOf', text(), text({ oneOf: [{ minLength: 3 }] }), 'x: oneOf is another now'],
  ['not', text(), text({ not: { enum: ['a'] } }), 'x: not is another now'],
  [
    'an embedded object',
    object({}, OPEN),
    object({}, { ...OPEN, 'x-kubernetes-embedded-resource': true }),
    'x: x-kubernetes-embedded-resource is another now',
  ],
  ['a keyword that nobody knows', text(), text({ 'x-kubernetes-soon': 1 }), 'x: x-kubernetes-soon is another now'],
];

describe('a schema that tightens', () => {
  test.each(TIGHTER)('%s', (_keyword, before, after, reason) => {
    expect(of(before, after)).toContain(reason);
    expect(of(object({ a: list({}, before) }), object({ a: list({}, after) })).join()).toContain('x.a[]');
  });
});

describe('a schema that loosens', () => {
  test.each(TIGHTER.filter(([, , , , both]) => !both))('%s', (_keyword, after, before) => {
    expect(of(before, after)).toEqual([]);
  });

  test.each<[string, object, object]>([
    [
      'text or a number, said twice',
      { type: 'integer' },
      { ...EITHER, anyOf: [{ type: 'integer' }, { type: 'string' }] },
    ],
    ['a format that nobody checks', number(), number({ format: 'double' })],
    ['other words', text({ description: 'a' }), text({ description: 'b', title: 'c', example: 'd' })],
    ['another default', text({ default: 'a' }), text({ default: 'b' })],
    ['a field more', object({}), object({ a: text({ maxLength: 1 }) })],
    ['a field less', object({ a: text() }), object({})],
    [
      'a field that has to be there and has a default',
      object({}),
      object({ a: text({ default: '' }) }, { required: ['a'] }),
    ],
    ['another message of a rule', text(rule('a', { message: 'b' })), text(rule('a', { message: 'c' }))],
    ['how fields are merged', object({}), object({}, { 'x-kubernetes-map-type': 'atomic' })],
    ['order', text({ enum: ['a', 'b'] }), text({ enum: ['b', 'a'] })],
  ])('%s', (_what, before, after) => {
    expect(of(before, after)).toEqual([]);
  });
});
