import { expect, test, vi } from 'vitest';
import { ApiError } from '../../../../shared/kube/api-error.ts';
import { createOrGet } from '../../../../shared/kube/create.ts';
import type { KubeClient } from '../../../../shared/kube/ports.ts';
import { CLUSTER_REQUESTS } from '../../../../shared/kube/resources.ts';

const object = { metadata: { name: 'shop', namespace: 'db-system' } };
const refusal = (status: number, reason: string): ApiError => new ApiError('POST x', status, { reason });

/** Where creation is refused, and what is there then. */
function clusterWhere(error: ApiError | undefined, found?: object): KubeClient {
  const create = vi.fn((_type: unknown, given: object) => (error ? Promise.reject(error) : Promise.resolve(given)));
  return { create, get: vi.fn(() => Promise.resolve(found)) } as unknown as KubeClient;
}

test('what is not there is created', async () => {
  expect(await createOrGet(clusterWhere(undefined), CLUSTER_REQUESTS, object)).toEqual(object);
});

test('what another process created meanwhile is taken as it is, also when it is gone again', async () => {
  const theirs = { metadata: { ...object.metadata, uid: 'theirs' } };
  const exists = refusal(409, 'AlreadyExists');
  expect(await createOrGet(clusterWhere(exists, theirs), CLUSTER_REQUESTS, object)).toEqual(theirs);
  expect(await createOrGet(clusterWhere(exists), CLUSTER_REQUESTS, object)).toBeUndefined();
});

test.each([refusal(409, 'Conflict'), refusal(403, 'Forbidden'), refusal(404, 'NotFound')])(
  '%s is passed on',
  async (error) => {
    await expect(createOrGet(clusterWhere(error), CLUSTER_REQUESTS, object)).rejects.toBe(error);
  },
);
