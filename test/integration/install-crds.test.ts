import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { z } from 'zod';
import { serviceApi } from '../../shared/provider/service-api.ts';
import { installCrds } from '../../functions/init/install-crds.ts';
import { foo } from '../../functions/providers/foo/provider.ts';
import type { Crd } from '../../shared/provider/schema/crd.ts';
import { isInvalid } from '../../shared/kube/api-error.ts';
import type { HttpKubeClient } from '../../shared/kube/client.ts';
import { CRDS } from '../../shared/kube/resources.ts';
import type { ServiceObject } from '../../shared/model/kubernetes.ts';
import { connectKcp } from '../control-planes/kcp.ts';
import { startKubeApiserver, type KubeApiserver } from '../control-planes/kube-apiserver.ts';
import { createWorkspace } from '../support/workspaces.ts';

/** Every construct that the schema converter takes. */
const everything = serviceApi({
  group: 'everything.example.org',
  version: 'v1',
  kind: 'Everything',
  spec: z.object({
    text: z.string().min(1).max(9).regex(/^a/).regex(/b$/).optional(),
    formats: z
      .object({
        url: z.url(),
        mail: z.email(),
        host: z.hostname(),
        ip: z.ipv4(),
        bytes: z.base64(),
        at: z.iso.datetime(),
      })
      .partial()
      .default({}),
    numbers: z
      .object({
        int: z.int(),
        int32: z.int32(),
        uint32: z.uint32(),
        float: z.float64(),
        odd: z.number().gt(3).multipleOf(5),
      })
      .partial()
      .default({}),
    choice: z.union([z.literal('a'), z.enum(['b', 'c'])]).optional(),
    digit: z.enum({ one: 1, two: 2 }).optional(),
    port: z.union([z.int(), z.string()]).optional(),
    nothing: z.string().nullable().optional(),
    record: z
      .record(z.string(), z.int())
      .meta({ maxProperties: 64, 'x-kubernetes-validations': [{ rule: "self.all(key, key.matches('^[a-z]+$'))" }] })
      .optional(),
    free: z.unknown().optional(),
    open: z.looseObject({ a: z.string() }).optional(),
    nested: z.object({ a: z.string().default('b') }).prefault({}),
    named: z
      .array(z.object({ name: z.string() }))
      .meta({ 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['name'] })
      .optional(),
    range: z
      .object({ min: z.int(), max: z.int() })
      .meta({ 'x-kubernetes-validations': [{ rule: 'self.min <= self.max', message: 'min is over max' }] })
      .optional(),
  }),
});

const SIZE = { group: 'sizes.example.org', version: 'v1', kind: 'Size', spec: z.object({}) };

let kubernetes: KubeApiserver;
let clusters: Record<'kcp' | 'kube-apiserver', HttpKubeClient>;

beforeAll(async () => {
  kubernetes = await startKubeApiserver({ dir: join(inject('runFolder'), 'install-crds') });
  const { admin } = connectKcp(inject('kcpKubeconfig'));
  const workspace = await createWorkspace(admin, 'root', `install-crds-${Date.now().toString(36)}`);
  clusters = { kcp: workspace.client, 'kube-apiserver': kubernetes.admin };
});

afterAll(() => kubernetes?.stop());

describe.each(['kcp', 'kube-apiserver'] as const)('on %s', (name) => {
  const crds = [foo.api.crd(), foo.config.crd(), everything.crd()];
  const order = async (object: string, spec: Record<string, unknown>): Promise<unknown> => {
    const metadata = { name: object, namespace: 'default' };
    return (await clusters[name].create<ServiceObject>(everything.type, { metadata, spec })).spec;
  };

  test('types are served when installCrds returns', async () => {
    await installCrds(clusters[name], crds);
    const config = await clusters[name].create<ServiceObject>(foo.config.type, { metadata: { name: 'foo' }, spec: {} });
    expect(config.spec).toEqual({ pollInterval: '1m' });
    expect(foo.config.parse(config).runtime).toEqual({ pollIntervalMs: 60_000, kcp: undefined });
  });

  test('a second run changes nothing', async () => {
    const versions = async (): Promise<unknown[]> =>
      (await clusters[name].list(CRDS)).items.map(({ metadata }) => metadata.resourceVersion);
    const before = await versions();
    await installCrds(clusters[name], crds);
    expect(await versions()).toEqual(before);
  });

  test('a spec.kcp that would lead elsewhere is refused', async () => {
    const kcp = { providerWorkspace: 'a/../b', kubeconfigSecret: { name: 'a', namespace: 'b' } };
    const wrong = clusters[name].create<ServiceObject>(foo.config.type, { metadata: { name: 'wrong' }, spec: { kcp } });
    await expect(wrong).rejects.toSatisfy(isInvalid);
  });

  test('an object gets its defaults and keeps what it says', async () => {
    const defaults = { formats: {}, numbers: {}, nested: { a: 'b' } };
    expect(await order('empty', {})).toEqual(defaults);
    const full = {
      text: 'ab',
      formats: { url: 'https://x.org/', mail: 'a@b.org', host: 'b.org', ip: '10.0.0.1', bytes: 'aGk=' },
      numbers: { int: 2 ** 40, int32: -1, uint32: 7, float: 0.5, odd: 10 },
      choice: 'c',
      digit: 2,
      port: 'http',
      nothing: null,
      record: { a: 1 },
      free: { a: [1, 'b'] },
      open: { a: 'b', c: { d: 1 } },
      nested: { a: 'c' },
      named: [{ name: 'a' }],
      range: { min: 1, max: 2 },
    };
    expect(await order('full', full)).toEqual(full);
  });

  test.each<[string, Record<string, unknown>]>([
    ['pattern', { text: 'ac' }],
    ['format', { formats: { ip: 'here' } }],
    ['integer', { numbers: { int: 1.5 } }],
    ['range of a format', { numbers: { int32: 2 ** 31 } }],
    ['exclusive-bound', { numbers: { odd: 3 } }],
    ['enum', { choice: 'd' }],
    ['int-or-string', { port: true }],
    ['null', { text: null, digit: null, range: { min: null, max: 1 } }],
    ['record', { record: { a: 'b' } }],
    ['keys of a record', { record: { A: 1 } }],
    ['required', { open: {} }],
    ['list-map', { named: [{ name: 'a' }, { name: 'a' }] }],
    ['rule', { range: { min: 2, max: 1 } }],
  ])('a wrong value is refused: %s', async (_what, spec) => {
    await expect(order('wrong', spec)).rejects.toSatisfy(isInvalid);
  });

  test('a version in which objects are stored and that is gone is refused before anything is written', async () => {
    const versions = async (): Promise<unknown[]> =>
      (await clusters[name].list(CRDS)).items.map(({ metadata }) => metadata.resourceVersion);
    const before = await versions();
    const next = structuredClone(everything.crd()) as Crd;
    next.spec.versions = next.spec.versions.map((version) => ({ ...version, name: 'v2' }));
    const changed = structuredClone(foo.api.crd()) as Crd;
    changed.spec.names.shortNames = ['other'];
    await expect(installCrds(clusters[name], [changed, next])).rejects.toMatchObject({
      code: 'INVALID_PROVIDER',
      message: expect.stringMatching(/stored in v1, .*it has v2.* status\.storedVersions/) as string,
    });
    expect(await versions()).toEqual(before);

    // Both, and the new one is stored from now on.
    next.spec.versions.push({ ...(everything.crd() as Crd).spec.versions[0], storage: false } as never);
    await installCrds(clusters[name], [next]);
    const type = { ...everything.type, version: 'v2' };
    expect(await clusters[name].get(type, 'empty', 'default')).toMatchObject({ metadata: { name: 'empty' } });
  });

  test('a kind that has another plural there is said at once', async () => {
    const second = serviceApi({ ...SIZE, plural: 'sizen' }).crd();
    await installCrds(clusters[name], [serviceApi(SIZE).crd()]);
    await expect(installCrds(clusters[name], [second], Infinity)).rejects.toMatchObject({
      code: 'INVALID_PROVIDER',
      message: expect.stringMatching(/Size.*is another one's there.*set plural/) as string,
    });
  });

  test('a CRD that the API server refuses is named', async () => {
    const crd = structuredClone(foo.api.crd()) as { spec: { group: string } };
    crd.spec.group = 'other.example.org';
    await expect(installCrds(clusters[name], [crd])).rejects.toThrow(/foos\.foo\.services/);
  });
});
