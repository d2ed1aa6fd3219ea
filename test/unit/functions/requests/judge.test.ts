import { expect, test } from 'vitest';
import type { DesiredRequest } from '../../../../functions/requests/desired.ts';
import { judgeRequest } from '../../../../functions/requests/requests.ts';
import type { KubeClient } from '../../../../shared/kube/ports.ts';
import type { KubeObject, ResourceType } from '../../../../shared/model/kubernetes.ts';
import { accessRequest, ANNOTATION, granted, wanted } from './registration.ts';

/** A cluster with these objects, and what was read of it. */
function clusterWith(objects: Record<string, KubeObject>): { client: KubeClient; read: string[] } {
  const read: string[] = [];
  const get = ({ kind }: ResourceType, name: string, namespace?: string) => {
    read.push(`${kind} ${namespace}/${name}`);
    return Promise.resolve(objects[kind]);
  };
  return { client: { get } as unknown as KubeClient, read };
}

const OWN = 'AccessRequest ns/foo--a--x';
const reference = { name: 'cp', namespace: 'other' };

test.each<[string, DesiredRequest, object]>([
  ['somebody else’s ClusterRequest', wanted(), { state: 'waiting', message: 'create-access-request is due' }],
  ['a Cluster', wanted({ cluster: { kind: 'cluster', reference } }), { state: 'waiting' }],
  [
    'a Cluster without access',
    wanted({ access: undefined, cluster: { kind: 'cluster', reference } }),
    { state: 'ordered' },
  ],
])('of %s nothing is read: only who orders access needs rights to it', async (_what, desired, verdict) => {
  const { client, read } = clusterWith({});
  expect(await judgeRequest(client, desired, ANNOTATION, false)).toMatchObject(verdict);
  expect(read).toEqual([OWN]);
});

test('what was granted is judged by our own request alone', async () => {
  const { client, read } = clusterWith({ AccessRequest: accessRequest({ status: granted }) });
  expect(await judgeRequest(client, wanted(), ANNOTATION, false)).toMatchObject({
    state: 'granted',
    secret: { name: 's' },
  });
  expect(read).toEqual([OWN]);
});

test('of a cluster of our own both requests are read', async () => {
  const { client, read } = clusterWith({});
  const desired = wanted({ cluster: { kind: 'order', spec: { purpose: 'workload' } } });
  const verdict = { state: 'waiting', message: 'create-cluster-request is due' };
  expect(await judgeRequest(client, desired, ANNOTATION, false)).toMatchObject(verdict);
  expect(read).toEqual(['ClusterRequest ns/foo--a--x', OWN]);
});
