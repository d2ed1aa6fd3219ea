import { describe, expect, test } from 'vitest';
import { ADOPTED_ANNOTATION, OBJECT_ANNOTATION, REQUEST_FINALIZER } from '../../../../shared/names.ts';
import { THEN } from '../objects.ts';
import {
  ACCESS,
  ANNOTATION,
  mcp,
  workload,
  clusterRequest,
  controlPlane,
  accessRequest,
  granted,
  verdictOf,
  actionOf,
} from './simple-access.ts';

describe('access to the control plane', () => {
  test('without a ControlPlane of that name nothing is created, and the request that is missing is named', () => {
    expect(verdictOf(mcp, {})).toEqual({
      state: 'waiting',
      reason: 'ControlPlaneNotFound',
      message: expect.stringContaining(`ClusterRequest ${mcp.namespace}/shop does not exist`) as string,
      nothingCreated: true,
    });
  });

  test.each([[undefined], [{ phase: 'Pending' as const }], [{ phase: '' as const }]])(
    'waits for a control plane with status %j',
    (status) => {
      const request = { ...controlPlane(), status: status ?? {} };
      expect(verdictOf(mcp, { clusterRequest: request })).toEqual({
        state: 'waiting',
        reason: 'WaitingForClusterRequest',
        message: `Waiting for ClusterRequest ${mcp.namespace}/shop to be granted`,
      });
    },
  );

  test('a granted control plane: an AccessRequest with the permissions, owner labels, finalizer and the way back', () => {
    expect(actionOf(mcp, { clusterRequest: controlPlane() })).toEqual({
      do: 'create-access-request',
      object: {
        metadata: {
          name: 'db--shop--mcp',
          namespace: mcp.namespace,
          labels: {
            'openmcp.cloud/managed-by': 'db',
            'openmcp.cloud/managed-purpose': 'project-a.shop.mcp',
            'openmcp.cloud/onboarding-name': 'shop',
            'openmcp.cloud/onboarding-namespace': 'project-a',
          },
          annotations: { [OBJECT_ANNOTATION]: ANNOTATION },
          finalizers: [REQUEST_FINALIZER],
        },
        spec: { requestRef: { name: 'shop', namespace: mcp.namespace }, token: ACCESS },
      },
    });
  });

  test('what was granted stays usable while the ControlPlane is on its way out', () => {
    expect(verdictOf(mcp, { accessRequest: accessRequest() })).toMatchObject(granted);
  });
});

describe('a workload cluster', () => {
  test('is ordered first, without access to it', () => {
    const action = actionOf(workload, {});
    expect(action).toMatchObject({
      do: 'create-cluster-request',
      object: { metadata: { name: 'db--shop--wl', finalizers: [REQUEST_FINALIZER] }, spec: { purpose: 'workload' } },
    });
    expect(action).not.toHaveProperty('object.spec.token');
  });

  test('is waited for before its access is ordered', () => {
    expect(verdictOf(workload, { clusterRequest: clusterRequest({}) })).toMatchObject({
      state: 'waiting',
      reason: 'WaitingForClusterRequest',
    });
  });

  test('once granted, access is ordered by a reference to our own request', () => {
    expect(actionOf(workload, { clusterRequest: clusterRequest() })).toMatchObject({
      do: 'create-access-request',
      object: { spec: { requestRef: { name: 'db--shop--wl', namespace: workload.namespace }, token: ACCESS } },
    });
  });

  test('denied: said in the words of whoever denied it', () => {
    const conditions = [
      { type: 'Other', status: 'True', message: 'fine' },
      { type: 'Scheduled', status: 'False', message: 'no capacity' },
    ];
    expect(verdictOf(workload, { clusterRequest: clusterRequest({ phase: 'Denied', conditions }) })).toEqual({
      state: 'refused',
      reason: 'AccessDenied',
      message: `ClusterRequest ${workload.namespace}/db--shop--wl was denied: no capacity`,
    });
  });

  test('a request that somebody else deletes is let go, before anything else is done to it', () => {
    const request = clusterRequest();
    request.metadata.deletionTimestamp = THEN;
    request.metadata.annotations = {};
    expect(actionOf(workload, { clusterRequest: request })).toEqual({ do: 'release-cluster-request', object: request });
  });

  test('our mark is put on a request that another runtime made; labels of others stay', () => {
    const request = clusterRequest();
    request.metadata.annotations = { other: 'x' };
    request.metadata.labels = { ...workload.ownerLabels, team: 'red' };
    request.metadata.finalizers = ['other/one'];
    const action = actionOf(workload, { clusterRequest: request });
    expect(action).toEqual({
      do: 'patch-cluster-request',
      patch: {
        metadata: {
          resourceVersion: '11',
          annotations: { [OBJECT_ANNOTATION]: ANNOTATION, [ADOPTED_ANNOTATION]: 'true' },
          labels: workload.extraLabels,
          finalizers: ['other/one', REQUEST_FINALIZER],
        },
      },
    });
  });
});
