import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { serviceApi } from '../../../../shared/provider/service-api.ts';
import { incompatibilities, type SchemaSpec } from '../../../../shared/kcp/compatibility.ts';

const OPEN = { 'x-kubernetes-preserve-unknown-fields': true };
const NAMES = { group: 'bar.example.org', version: 'v1', kind: 'Bar' };
const specOf = (spec: z.ZodObject, names: object = {}): SchemaSpec =>
  serviceApi({ ...NAMES, ...names, spec }).apiResourceSchema()['spec'] as SchemaSpec;

const BEFORE = z.object({
  a: z.string(),
  size: z.enum(['s', 'm']).optional(),
  count: z.int().optional(),
  list: z.array(z.object({ x: z.string() })).optional(),
  map: z.record(z.string(), z.string()).optional(),
  free: z.unknown().optional(),
});
const ofChange = (spec: z.ZodObject, names?: object): string[] =>
  incompatibilities(specOf(BEFORE), specOf(spec, names));

describe('stored objects stay valid', () => {
  test.each([
    ['nothing changes', BEFORE],
    ['a new optional field', BEFORE.extend({ b: z.string().optional() })],
    ['a new field with a default', BEFORE.extend({ b: z.string().default('x') })],
    ['a field is no longer required', BEFORE.extend({ a: z.string().optional() })],
    ['a field is taken away', BEFORE.omit({ count: true })],
    ['an enum grows', BEFORE.extend({ size: z.enum(['s', 'm', 'l']).optional() })],
    ['an enum becomes any text', BEFORE.extend({ size: z.string().optional() })],
    ['a number becomes less strict', BEFORE.extend({ count: z.number().optional() })],
    ['a field takes anything', BEFORE.extend({ a: z.unknown() })],
  ])('%s', (_name, spec) => {
    expect(ofChange(spec)).toEqual([]);
  });
});

describe('stored objects would become invalid', () => {
  test.each([
    ['another type', BEFORE.extend({ a: z.int() }), 'v1.spec.a: type was string, is now integer'],
    [
      'a type at last',
      BEFORE.extend({ free: z.string().optional() }),
      'v1.spec.free: type was anything, is now string',
    ],
    ['a new required field', BEFORE.extend({ b: z.string() }), 'v1.spec.b: is now required'],
    ['a field becomes required', BEFORE.extend({ count: z.int() }), 'v1.spec.count: is now required'],
    ['an enum shrinks', BEFORE.extend({ size: z.enum(['s']).optional() }), 'v1.spec.size: no longer allows m'],
    ['text becomes an enum', BEFORE.extend({ a: z.enum(['x']) }), 'v1.spec.a: now only allows x'],
    [
      'inside a list',
      BEFORE.extend({ list: z.array(z.object({ x: z.boolean() })).optional() }),
      'v1.spec.list[].x: type was string, is now boolean',
    ],
    [
      'inside a map',
      BEFORE.extend({ map: z.record(z.string(), z.int()).optional() }),
      'v1.spec.map.*: type was string, is now integer',
    ],
  ])('%s', (_name, spec, reason) => {
    expect(ofChange(spec)).toEqual([reason]);
  });

  test('the kind changes', () => {
    expect(ofChange(BEFORE, { kind: 'Bat' })).toEqual(['kind was Bar, is now Bat']);
  });

  test('the scope changes', () => {
    const after = { ...specOf(BEFORE), scope: 'Cluster' };
    expect(incompatibilities(specOf(BEFORE), after)).toEqual(['scope was Namespaced, is now Cluster']);
  });

  test('a version is gone', () => {
    expect(ofChange(BEFORE, { version: 'v2' })).toEqual(['version v1 is gone']);
  });
});

describe('versions', () => {
  const text = { type: 'object', properties: { a: { type: 'string' } } };
  const short = { type: 'object', properties: { a: { type: 'string', maxLength: 3 } } };
  const version = (name: string, schema: object = text, more: object = {}) => ({
    name,
    served: true,
    storage: false,
    schema,
    subresources: { status: {} },
    ...more,
  });
  const of = (...versions: ReturnType<typeof version>[]): SchemaSpec => ({ versions });
  const stored = { storage: true };

  test.each([
    ['one more', of(version('v1'), version('v2', text, stored))],
    ['one more that takes more', of(version('v1'), version('v2', { type: 'object', ...OPEN }, stored))],
    ['one more that is not served', of(version('v1'), version('v2', short, { served: false }))],
  ])('%s', (_name, after) => {
    expect(incompatibilities(of(version('v1', text, stored)), after)).toEqual([]);
  });

  test.each([
    ['is no longer served', of(version('v1', text, { served: false })), 'version v1 is no longer served'],
    ['loses its status', of(version('v1', text, { subresources: {} })), 'v1: the subresource status is gone'],
    [
      'is followed by one that takes less',
      of(version('v1'), version('v2', short, stored)),
      'v2 (of an object of v1).a: maxLength was none, is now 3',
    ],
  ])('one %s', (_name, after, reason) => {
    expect(incompatibilities(of(version('v1', text, stored)), after)).toEqual([reason]);
  });

  test('one that was not served is nobody’s', () => {
    const before = of(version('v1', text, stored), version('v0', text, { served: false }));
    expect(incompatibilities(before, of(version('v1', text, stored)))).toEqual([]);
  });
});
