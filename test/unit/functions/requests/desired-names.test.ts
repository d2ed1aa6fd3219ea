import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { requestIdentities } from '../../../../functions/requests/desired.ts';
import {
  existingCluster,
  existingRequest,
  newCluster,
  requestNamespaces,
  sameAsObject,
} from '../../../../shared/provider/registration.ts';
import { providerConfig } from '../../../../shared/provider/provider-config.ts';
import { serviceApi } from '../../../../shared/provider/service-api.ts';
import { defineProvider, type ProviderOptions } from '../../../../shared/provider/define.ts';
import type { ObjectKey } from '../../../../shared/model/object-key.ts';
import { mcpNamespace, nameUuid } from '../../../../shared/names.ts';

const SPEC = z.object({});
type Options = ProviderOptions<typeof SPEC, typeof SPEC>;
const reference = { name: 'c', namespace: 'sys' };

function provider(access: Options['access'], workloadCluster = true) {
  const api = { group: 'foo.example', version: 'v1' };
  return defineProvider({
    name: 'foo',
    controllerName: 'Foo',
    workloadCluster,
    access,
    api: serviceApi({ ...api, kind: 'Foo', spec: SPEC }),
    config: providerConfig({ ...api, spec: SPEC, kcp: false }),
    createOrUpdate: () => Promise.resolve(),
    delete: () => Promise.resolve(),
  });
}
const KEY: ObjectKey = {
  provider: 'foo',
  mode: 'standard',
  cluster: 'onboarding',
  namespace: 'p',
  name: 'a',
  uid: 'u',
};
const placeOf = ({ namespace, name }: { namespace: string; name: string }) => `${namespace}/${name}`;

describe('requests of registrations', () => {
  test('have the namespaces of the Go generators, and its default', () => {
    const clusters = {
      one: newCluster({ cluster: { purpose: 'x' } }),
      two: existingRequest({ request: reference, namespace: requestNamespaces.mcp, suffix: 'zwei' }),
      three: existingCluster({ cluster: sameAsObject, namespace: requestNamespaces.sameAsObject }),
      four: newCluster({ cluster: () => ({ purpose: 'x' }), namespace: 'fixed' }),
    };
    expect(requestIdentities(KEY, provider({ mcp: {}, clusters })).map(placeOf)).toEqual([
      `${mcpNamespace('a', 'p')}/foo--a--mcp`,
      `${mcpNamespace('a', 'p')}/foo--a--wl`,
      `${nameUuid('p', 'a')}/foo--a--one`,
      `${mcpNamespace('a', 'p')}/foo--a--zwei`,
      'p/foo--a--three',
      'fixed/foo--a--four',
    ]);
  });

  test("are in the workspace's namespace in kcp mode, whatever is declared: names repeat there", () => {
    const clusters = { one: newCluster({ cluster: { purpose: 'x' }, namespace: 'fixed' }) };
    const of = (cluster: string) =>
      requestIdentities({ ...KEY, mode: 'kcp', cluster }, provider({ mcp: {}, clusters })).map(placeOf);
    expect(of('w1')).toHaveLength(2);
    expect(new Set([...of('w1'), ...of('w2')]).size).toBe(4);
  });

  test('have labels as the provider says, shortened where they are too long', () => {
    const [mcp] = requestIdentities(
      KEY,
      provider({
        mcp: {},
        labels: ({ name }, id) => ({
          managedBy: 'Elsewhere',
          managedPurpose: `${name}-${id}`,
          labels: { team: 'x'.repeat(70) },
        }),
      }),
    );
    expect(mcp?.ownerLabels).toEqual({
      'openmcp.cloud/managed-by': 'Elsewhere',
      'openmcp.cloud/managed-purpose': 'a-mcp',
    });
    expect(mcp?.extraLabels['team']).toHaveLength(63);
    expect(mcp?.extraLabels['openmcp.cloud/onboarding-name']).toBe('a');
  });
});

describe('a registration is refused', () => {
  const one = newCluster({ cluster: { purpose: 'x' } });
  test.each([
    ['when its id is one of simple access', { mcp: one }, /access\.clusters\.mcp: this id has a meaning/],
    ['when its id is no label', { One: one }, /access\.clusters\.One: the id must be a DNS label/],
    [
      'when its names would be those of another',
      { one, two: { ...one, suffix: 'one' } },
      /access\.clusters\.two\.suffix: one is that of one/,
    ],
    [
      'when its names would be those of the workload cluster',
      { one: { ...one, suffix: 'wl' } },
      /suffix: wl is that of workload/,
    ],
    ['when its suffix leaves no room', { one: { ...one, suffix: 'x'.repeat(40) } }, /suffix: must be at most 31/],
  ])('%s', (_, clusters, problem) => {
    expect(() => provider({ mcp: {}, clusters })).toThrow(problem);
  });
});
