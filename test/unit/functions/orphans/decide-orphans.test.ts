import { describe, expect, test } from 'vitest';
import { inRemovalOrder, type Owned, orphanVerdict, ownerKey } from '../../../../functions/orphans/decide-orphans.ts';
import { ACCESS_REQUESTS, CLUSTER_REQUESTS, NAMESPACES, SECRETS } from '../../../../shared/kube/resources.ts';
import { formatObjectKey, type ObjectKey } from '../../../../shared/model/object-key.ts';
import { mcpNamespace } from '../../../../shared/names.ts';

const KEY: ObjectKey = {
  provider: 'foo',
  mode: 'standard',
  cluster: 'onboarding',
  namespace: 'project-a',
  name: 'cp',
  uid: 'u1',
};
const ANNOTATION = 'service-provider.open-control-plane.io/object';
const GO_LABELS = {
  'openmcp.cloud/managed-purpose': 'project-a.cp.mcp',
  'openmcp.cloud/onboarding-name': 'cp',
  'openmcp.cloud/onboarding-namespace': 'project-a',
};
const request = (metadata: object) => ({
  metadata: { name: 'foo--cp--mcp', namespace: mcpNamespace('cp', 'project-a'), ...metadata },
});

describe('whose it is', () => {
  test('what our annotation says', () => {
    expect(ownerKey('foo', request({ annotations: { [ANNOTATION]: formatObjectKey(KEY) } }))).toEqual(KEY);
  });

  test("another provider's of the same controller name is not ours", () => {
    const other = formatObjectKey({ ...KEY, provider: 'bar' });
    expect(ownerKey('foo', request({ annotations: { [ANNOTATION]: other } }))).toBe('not-ours');
  });

  test('a request of the Go runtime by its labels, where the namespace proves them', () => {
    expect(ownerKey('foo', request({ labels: GO_LABELS }))).toEqual({ ...KEY, uid: '' });
    const elsewhere = request({ labels: GO_LABELS, namespace: 'mcp--elsewhere' });
    expect(ownerKey('foo', elsewhere)).toBeUndefined();
  });

  test("the provider's own access to the onboarding cluster is never looked at", () => {
    expect(ownerKey('foo', request({ labels: { 'openmcp.cloud/managed-by': 'foo' } }))).toBe('not-ours');
  });

  test('a purpose that names no object leaves it unclear', () => {
    expect(ownerKey('foo', request({ labels: { 'openmcp.cloud/managed-purpose': 'x' } }))).toBeUndefined();
  });
});

describe('what becomes of it', () => {
  const owned: Owned = { type: ACCESS_REQUESTS, object: request({}), key: KEY };
  test.each([
    [{ state: 'present' } as const, 'in-use'],
    [{ state: 'absent' } as const, 'orphan'],
    [{ state: 'unknown', why: '403' } as const, 'unknown'],
  ])('%o: %s', (presence, verdict) => {
    expect(orphanVerdict(owned, presence).verdict).toBe(verdict);
  });

  test('nothing is proven for what names no object', () => {
    expect(orphanVerdict({ ...owned, key: undefined }, { state: 'absent' }).verdict).toBe('unknown');
  });

  test('access goes before its cluster, and a namespace last', () => {
    const types = [NAMESPACES, SECRETS, CLUSTER_REQUESTS, ACCESS_REQUESTS].map((type) => ({ type }));
    expect(inRemovalOrder(types).map(({ type }) => type.kind)).toEqual([
      'AccessRequest',
      'ClusterRequest',
      'Secret',
      'Namespace',
    ]);
  });
});
