import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { providerConfig, type ProviderConfigOptions } from '../../../../shared/provider/provider-config.ts';
import { isRuntimeError } from '../../../../shared/errors.ts';

const NAMES = { group: 'bar.example.org', version: 'v1alpha1' };
const SPEC = z.object({
  versions: z.array(z.object({ name: z.string() })).default([]),
  chart: z.object({ url: z.string() }).optional(),
});
const KCP = { providerWorkspace: 'root:org:services', kubeconfigSecret: { name: 'kcp', namespace: 'provider' } };

const withKcp = providerConfig({ ...NAMES, spec: SPEC, kcp: true, pollInterval: '1m' });
const withoutKcp = providerConfig({ ...NAMES, spec: SPEC, kcp: false });
const object = (spec?: unknown) => ({ metadata: { name: 'bar' }, spec });

type Fields = Record<string, Record<string, unknown>>;
interface Shape {
  spec: { versions: [{ schema: { openAPIV3Schema: { properties: { spec: { properties: Fields } } } } }] };
}

const specFields = (api: { crd(): object }): Fields =>
  (api.crd() as Shape).spec.versions[0].schema.openAPIV3Schema.properties.spec.properties;

function options(spec: z.ZodObject, more: object = {}): ProviderConfigOptions<z.ZodObject> {
  return { ...NAMES, spec, kcp: false, ...more };
}

describe('the CRD', () => {
  test('has the fields of the author and of the runtime', () => {
    expect(Object.keys(specFields(withKcp))).toEqual(['versions', 'chart', 'pollInterval', 'kcp']);
    expect(specFields(withKcp)['pollInterval']).toMatchObject({ type: 'string', format: 'duration', default: '1m' });
  });

  test('offers no kcp that the provider can not do, and no default that the author did not set', () => {
    expect(Object.keys(specFields(withoutKcp))).toEqual(['versions', 'chart', 'pollInterval']);
    expect(specFields(withoutKcp)['pollInterval']).not.toHaveProperty('default');
  });

  test("keeps the author's own pollInterval", () => {
    const own = z.object({ pollInterval: z.string().default('5m').describe('mine') });
    const api = providerConfig({ ...NAMES, spec: own, kcp: false });
    expect(specFields(api)['pollInterval']).toEqual({ type: 'string', default: '5m', description: 'mine' });
    expect(api.parse(object({})).runtime.pollIntervalMs).toBe(300_000);
    expect(api.parse(object({ pollInterval: '2s' })).runtime.pollIntervalMs).toBe(2_000);
  });

  test('is cluster-scoped and can be named', () => {
    const api = providerConfig({ ...NAMES, kind: 'BarConfig', spec: SPEC, kcp: false });
    expect(api.type).toEqual({ ...NAMES, kind: 'BarConfig', plural: 'barconfigs', namespaced: false });
  });
});

describe('parse', () => {
  test('gives each side its fields, with defaults', () => {
    const spec = { chart: { url: 'oci://x' }, kcp: KCP, pollInterval: '1h30m' };
    expect(withKcp.parse(object(spec))).toEqual({
      config: { versions: [], chart: { url: 'oci://x' } },
      runtime: { pollIntervalMs: 5_400_000, kcp: KCP },
    });
    expect(withKcp.parse(object())).toEqual({
      config: { versions: [] },
      runtime: { pollIntervalMs: 60_000, kcp: undefined },
    });
  });

  test('without a poll interval Ready objects are left alone', () => {
    expect(withoutKcp.parse(object({})).runtime.pollIntervalMs).toBeUndefined();
    expect(withKcp.parse(object({ pollInterval: '0s' })).runtime.pollIntervalMs).toBeUndefined();
  });

  test('a provider without kcp does not see spec.kcp', () => {
    expect(withoutKcp.parse(object({ kcp: KCP })).runtime.kcp).toBeUndefined();
  });

  test("a strict schema of the author's does not stumble over the runtime's fields", () => {
    const strict = providerConfig({ ...NAMES, spec: z.strictObject({ a: z.string() }), kcp: true });
    expect(strict.parse(object({ a: 'b', kcp: KCP, pollInterval: '1s' })).config).toEqual({ a: 'b' });
    expect(() => strict.parse(object({ a: 'b', c: 'd' }))).toThrow(/"c"/);
  });

  test.each([
    ['a wrong type', { versions: [{ name: 1 }] }, /^ProviderConfig bar: spec\.versions\.0\.name: .*expected string/],
    ['a missing field', { chart: {} }, /spec\.chart\.url: /],
    ['two faults at once', { versions: 1, chart: 1 }, /spec\.versions: .*; spec\.chart: /],
    ['no object', 'text', /spec: expected an object/],
    ['no duration', { pollInterval: 'soon' }, /spec\.pollInterval: expected a duration such as 30s/],
    ['an ISO duration', { pollInterval: 'P1D' }, /spec\.pollInterval: expected a duration/],
    ['a number', { pollInterval: 60 }, /spec\.pollInterval: expected a duration/],
    ['a negative duration', { pollInterval: '-1m' }, /spec\.pollInterval: expected a duration/],
    ['an incomplete kcp', { kcp: {} }, /spec\.kcp\.providerWorkspace: .*; spec\.kcp\.kubeconfigSecret: /],
    [
      'a workspace that is no path',
      { kcp: { ...KCP, providerWorkspace: 'root/../../api' } },
      /spec\.kcp\.providerWorkspace: expected the path of a workspace/,
    ],
    ['all workspaces', { kcp: { ...KCP, providerWorkspace: '*' } }, /spec\.kcp\.providerWorkspace: expected/],
    [
      'a wrong Secret name',
      { kcp: { ...KCP, kubeconfigSecret: { name: 'A B', namespace: 'x' } } },
      /spec\.kcp\.kubeconfigSecret\.name: expected the name of a Secret/,
    ],
  ])('refuses %s and names the field', (_what, spec, message) => {
    const parse = (): unknown => withKcp.parse(object(spec));
    expect(parse).toThrow(message);
    expect(parse).toThrow(expect.toSatisfy((error) => isRuntimeError(error, 'INVALID_PROVIDER_CONFIG')) as Error);
  });
});

describe('providerConfig refuses', () => {
  test.each([
    ['a field named kcp', options(z.object({ kcp: z.string() })), /spec\.kcp: the runtime owns this field/],
    ['two defaults', options(z.object({ pollInterval: z.string() }), { pollInterval: '1m' }), /a schema of its own/],
    ['a default that is no duration', options(SPEC, { pollInterval: 'often' }), /pollInterval often: expected/],
    ['what a CRD can not express', options(z.object({ at: z.date() })), /spec\.at: z\.date/],
  ])('%s', (_what, wrong, message) => {
    expect(() => providerConfig(wrong)).toThrow(message);
    expect(() => providerConfig(wrong)).toThrow(
      expect.toSatisfy((error) => isRuntimeError(error, 'INVALID_PROVIDER')) as Error,
    );
  });
});
