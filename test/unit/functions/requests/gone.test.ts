import { expect, test } from 'vitest';
import { judgeRequest } from '../../../../functions/requests/requests.ts';
import { withoutCluster } from '../../../../functions/requests/gone.ts';
import { ApiError } from '../../../../shared/kube/api-error.ts';
import type { KubeClient } from '../../../../shared/kube/ports.ts';
import type { KubeObject, ResourceType } from '../../../../shared/model/kubernetes.ts';
import { REQUEST_FINALIZER } from '../../../../shared/names.ts';
import { accessRequest, ANNOTATION, clusterRequest, metadata, wanted } from './registration.ts';

const SINCE = '2026-01-01T00:00:00Z';
const mcp = wanted({ id: 'mcp' });
const ordered = wanted({ cluster: { kind: 'order', spec: { purpose: 'workload' } } });
const ending = accessRequest({ metadata: metadata({ deletionTimestamp: SINCE }) });
const held = accessRequest({
  metadata: metadata({ deletionTimestamp: SINCE, finalizers: ['x/y', REQUEST_FINALIZER] }),
});
const others = accessRequest({ metadata: metadata({ deletionTimestamp: SINCE, annotations: {} }) });
const NOTHING = { accessRequest: undefined, clusterRequest: undefined };

const platform = (objects: Record<string, KubeObject | ApiError>): KubeClient =>
  ({
    get: ({ kind }: ResourceType) => {
      const found = objects[kind];
      return found instanceof ApiError ? Promise.reject(found) : Promise.resolve(found);
    },
  }) as unknown as KubeClient;
const namespace = (fields: object = {}): KubeObject => ({ metadata: { name: 'ns', ...fields } });

test('a control plane is gone when neither its ClusterRequest nor usable access to it exists', async () => {
  expect(await withoutCluster(platform({}), mcp, NOTHING)).toMatchObject({ state: 'gone' });
  // Held by nobody but us: what it remembers of the object is still needed.
  expect(await withoutCluster(platform({}), mcp, { ...NOTHING, accessRequest: ending })).toMatchObject({
    state: 'gone',
  });
});

test('it is not gone while its ClusterRequest exists, or something uses the access, or another runtime removes it', async () => {
  const there = platform({ ClusterRequest: clusterRequest() });
  expect(await withoutCluster(there, mcp, NOTHING)).toBeUndefined();
  for (const request of [accessRequest(), held, others])
    expect(await withoutCluster(platform({}), mcp, { ...NOTHING, accessRequest: request })).toBeUndefined();
});

test('a cluster of our own is gone when its namespace takes no order any more', async () => {
  expect(await withoutCluster(platform({}), ordered, NOTHING)).toMatchObject({ state: 'gone' });
  const leaving = platform({ Namespace: namespace({ deletionTimestamp: SINCE }) });
  expect(await withoutCluster(leaving, ordered, NOTHING)).toMatchObject({ state: 'gone' });
  expect(await withoutCluster(leaving, ordered, { ...NOTHING, clusterRequest: clusterRequest() })).toBeUndefined();
  expect(await withoutCluster(platform({ Namespace: namespace() }), ordered, NOTHING)).toBeUndefined();
});

test('what can not be read is not gone', async () => {
  const forbidden = new ApiError('GET x', 403, { reason: 'Forbidden' });
  await expect(withoutCluster(platform({ ClusterRequest: forbidden }), mcp, NOTHING)).rejects.toBe(forbidden);
  await expect(withoutCluster(platform({ Namespace: forbidden }), ordered, NOTHING)).rejects.toBe(forbidden);
});

test('only an object that is being deleted can do without', async () => {
  expect(await judgeRequest(platform({}), mcp, ANNOTATION, false)).toMatchObject({ state: 'waiting' });
  expect(await judgeRequest(platform({}), mcp, ANNOTATION, true)).toMatchObject({ state: 'gone' });
});
