import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { type Crd } from '../../../../../shared/provider/schema/crd.ts';
import { serviceApi } from '../../../../../shared/provider/service-api.ts';
import { foo } from '../../../../../functions/providers/foo/provider.ts';

type Json = Record<string, unknown>;

const fixture = (name: string): Crd => parse(readFileSync(join(import.meta.dirname, 'fixtures', name), 'utf8')) as Crd;

/** Descriptions are for people and may differ; nothing else may. */
function withoutDescriptions(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutDescriptions);
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key, field]) => key !== 'description' || typeof field !== 'string')
      .map(([key, field]) => [key, withoutDescriptions(field)]),
  );
}

const schemaOfCrd = (crd: object): Json =>
  withoutDescriptions((crd as Crd).spec.versions[0]?.schema.openAPIV3Schema) as Json;
const part = (schema: Json, field: string): Json => (schema['properties'] as Record<string, Json>)[field] as Json;
const fields = (schema: Json): Json => schema['properties'] as Json;

const withoutStatus = (schema: Json): Json => ({ ...schema, properties: { ...fields(schema), status: undefined } });

const METADATA = { group: 'bar.example.org', version: 'v1', kind: 'Bar' };
const api = (spec: z.ZodObject, version = 'v1') => serviceApi({ ...METADATA, version, spec });

describe("Foo can take the place of the Go runtime's", () => {
  const [ours, theirs] = [foo.api.crd() as Crd, fixture('go-foos.yaml')];
  const [our, their] = [schemaOfCrd(ours), schemaOfCrd(theirs)];

  test('it is the same type', () => {
    expect(ours.metadata.name).toBe(theirs.metadata.name);
    expect(ours.metadata.labels).toEqual(theirs.metadata.labels);
    const { versions: ourVersions, ...ourSpec } = ours.spec;
    const { versions: theirVersions, ...theirSpec } = theirs.spec;
    expect(ourSpec).toEqual(theirSpec);
    const [{ schema: _ours, ...ourVersion } = {}, ...rest] = ourVersions;
    const [{ schema: _theirs, ...theirVersion } = {}] = theirVersions;
    expect(rest).toEqual([]);
    expect(ourVersion).toEqual(theirVersion);
  });

  test('everything but status is equal', () => {
    expect(withoutStatus(our)).toEqual(withoutStatus(their));
  });

  test('its status has what theirs has, and more', () => {
    const [ourStatus, theirStatus] = [part(our, 'status'), part(their, 'status')];
    expect(ourStatus['required']).toEqual(theirStatus['required']);
    expect(fields(ourStatus)).toMatchObject(fields(theirStatus));
    expect(fields(ourStatus)['conditions']).toEqual(fields(theirStatus)['conditions']);
    expect(Object.keys(fields(ourStatus)).toSorted()).toEqual([
      'conditions',
      'foo',
      'observedGeneration',
      'phase',
      'resources',
    ]);
  });
});

describe("its ProviderConfig can take the place of the Go runtime's", () => {
  const [ours, theirs] = [foo.config.crd() as Crd, fixture('go-providerconfigs.yaml')];

  test('it is equal but for kcp', () => {
    expect(ours.metadata.labels).toEqual(theirs.metadata.labels);
    expect({ ...ours.spec, versions: [] }).toEqual({ ...theirs.spec, versions: [] });
    const our = schemaOfCrd(ours);
    const { kcp, ...spec } = fields(part(our, 'spec'));
    expect(kcp).toMatchObject({ type: 'object', required: ['kubeconfigSecret', 'providerWorkspace'] });
    const withoutKcp = { ...our, properties: { ...fields(our), spec: { ...part(our, 'spec'), properties: spec } } };
    expect(withoutKcp).toEqual(schemaOfCrd(theirs));
  });
});

describe('serviceApi', () => {
  test.each([
    ['group', { ...METADATA, group: 'Example' }],
    ['version', { ...METADATA, version: '1' }],
    ['kind', { ...METADATA, kind: 'bar' }],
    ['plural', { ...METADATA, plural: 'Bars' }],
  ])('refuses a wrong %s', (field, names) => {
    expect(() => serviceApi({ ...names, spec: z.object({}) })).toThrow(new RegExp(`^${field} .*expected`));
  });

  test.each(['phase', 'observedGeneration', 'conditions'])('keeps status.%s for the runtime', (field) => {
    const status = z.object({ [field]: z.string() });
    expect(() => serviceApi({ ...METADATA, spec: z.object({}), status })).toThrow(`status.${field}`);
  });

  test("a provider's status fields are optional, since the runtime writes status before there are any", () => {
    const crd = serviceApi({ ...METADATA, spec: z.object({}), status: z.object({ url: z.string() }) }).crd();
    const status = part(schemaOfCrd(crd), 'status');
    expect(fields(status)['url']).toEqual({ type: 'string' });
    expect(status['required']).toEqual(['observedGeneration', 'phase']);
  });

  test('short names and an own plural get into the CRD', () => {
    const crd = serviceApi({ ...METADATA, plural: 'barren', shortNames: ['br'], spec: z.object({}) }).crd() as Crd;
    expect(crd.metadata.name).toBe('barren.bar.example.org');
    expect(crd.spec.names).toMatchObject({ plural: 'barren', singular: 'bar', shortNames: ['br'] });
  });
});

describe('an existing CRD', () => {
  const crd = fixture('go-foos.yaml');

  test('is taken over as it is', () => {
    const existing = serviceApi({ crd });
    expect(existing.type).toEqual(foo.api.type);
    expect(existing.crd()).toEqual(crd);
    expect(existing.spec.parse({ anything: 1 })).toEqual({ anything: 1 });
    expect(existing.apiResourceSchema()).toMatchObject({ spec: { versions: [{ name: 'v1alpha1', storage: true }] } });
  });

  test.each([
    ['no CRD', { kind: 'ConfigMap' }, /not a CustomResourceDefinition/],
    ['cluster-scoped', { ...crd, spec: { ...crd.spec, scope: 'Cluster' } }, /must be Namespaced/],
    [
      'a conversion webhook',
      { ...crd, spec: { ...crd.spec, conversion: { strategy: 'Webhook' } } },
      /conversion webhooks/,
    ],
    [
      'no status subresource',
      { ...crd, spec: { ...crd.spec, versions: [{ ...crd.spec.versions[0], subresources: {} }] } },
      /status subresource/,
    ],
    [
      'no common status',
      { ...crd, spec: { ...crd.spec, versions: [{ ...crd.spec.versions[0], schema: { openAPIV3Schema: {} } }] } },
      /must have status\.phase/,
    ],
  ])('is refused with %s', (_name, wrong, message) => {
    expect(() => serviceApi({ crd: wrong })).toThrow(message);
  });
});

const nameOf = (spec: z.ZodObject, version?: string): string => api(spec, version).apiResourceSchema().metadata.name;

describe('the APIResourceSchema', () => {
  const base = z.object({ a: z.string(), b: z.int().optional() });

  test('is the CRD in kcp shape', () => {
    const schema = api(base).apiResourceSchema();
    const crd = api(base).crd() as Crd;
    const { schema: crdSchema, ...version } = crd.spec.versions[0] as Crd['spec']['versions'][0];
    expect(schema).toMatchObject({ apiVersion: 'apis.kcp.io/v1alpha1', kind: 'APIResourceSchema' });
    expect(schema['spec']).toEqual({
      group: 'bar.example.org',
      names: crd.spec.names,
      scope: 'Namespaced',
      versions: [{ ...version, schema: crdSchema.openAPIV3Schema }],
    });
    expect(schema.metadata.name).toMatch(/^v[0-9a-f]{8}\.bars\.bar\.example\.org$/);
  });

  test('has the same name for the same content', () => {
    expect(nameOf(base)).toBe(nameOf(z.object({ a: z.string(), b: z.int().optional() })));
    expect(nameOf(base)).toBe(nameOf(z.object({ b: z.int().optional(), a: z.string() })));
  });

  test.each([
    ['a field', nameOf(base.extend({ c: z.string().optional() }))],
    ['a bound', nameOf(z.object({ a: z.string().max(9), b: z.int().optional() }))],
    ['a description', nameOf(z.object({ a: z.string().describe('new'), b: z.int().optional() }))],
    ['the version', nameOf(base, 'v2')],
  ])('has another name when %s changes', (_what, name) => {
    expect(name).not.toBe(nameOf(base));
  });

  test('callers can not change what the next one gets', () => {
    const [first, second] = [foo.api.apiResourceSchema(), foo.api.apiResourceSchema()];
    first.metadata.name = 'other';
    expect(second.metadata.name).not.toBe('other');
    (foo.api.crd() as Crd).spec.group = 'other';
    expect((foo.api.crd() as Crd).spec.group).toBe(foo.api.type.group);
  });
});
