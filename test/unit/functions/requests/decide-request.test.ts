import { describe, expect, test } from 'vitest';
import { decideRequest, type ObservedRequest } from '../../../../functions/requests/decide-request.ts';
import { desiredMcpRequest, desiredWorkloadRequest } from '../../../../functions/requests/desired.ts';
import { isOurs } from '../../../../functions/requests/ownership.ts';
import type { AccessRequest, AccessSpec, ClusterRequest } from '../../../../shared/model/access.ts';
import { ADOPTED_ANNOTATION, OBJECT_ANNOTATION, REQUEST_FINALIZER } from '../../../../shared/names.ts';
import { provider, standardKey, THEN } from '../objects.ts';

const ACCESS: AccessSpec = { permissions: [{ rules: [{ apiGroups: [''], resources: ['secrets'], verbs: ['get'] }] }] };
const ANNOTATION = 'db|standard|onboarding|project-a|shop|uid-1';
const mcp = desiredMcpRequest(standardKey, provider, { token: ACCESS });
const workload = desiredWorkloadRequest(standardKey, provider, { token: ACCESS });
const NOTHING: ObservedRequest = { clusterRequest: undefined, accessRequest: undefined };

const metadata = (desired: typeof mcp) => ({
  name: desired.name,
  namespace: desired.namespace,
  generation: 3,
  resourceVersion: '11',
  labels: { ...desired.extraLabels, ...desired.ownerLabels },
  annotations: { [OBJECT_ANNOTATION]: ANNOTATION },
  finalizers: [REQUEST_FINALIZER],
});

/** A ClusterRequest of ours, granted unless told otherwise. */
function clusterRequest(status: ClusterRequest['status'] = { phase: 'Granted' }): ClusterRequest {
  return { metadata: metadata(workload), spec: { purpose: 'workload' }, ...(status ? { status } : {}) };
}

/** The control plane's own ClusterRequest, which carries nothing of ours. */
function controlPlane(status: ClusterRequest['status'] = { phase: 'Granted' }): ClusterRequest {
  return {
    metadata: { name: 'shop', namespace: mcp.namespace },
    spec: { purpose: 'mcp' },
    ...(status ? { status } : {}),
  };
}

/** An AccessRequest of ours, granted for the present spec unless told otherwise. */
function accessRequest(
  desired = mcp,
  status: AccessRequest['status'] = { phase: 'Granted', observedGeneration: 3, secretRef: { name: 'kubeconfig-1' } },
): AccessRequest {
  return {
    metadata: metadata(desired),
    spec: { requestRef: { name: 'shop', namespace: mcp.namespace }, token: structuredClone(ACCESS) },
    status,
  };
}

const granted = {
  state: 'granted',
  secret: { name: 'kubeconfig-1', namespace: mcp.namespace, key: 'kubeconfig' },
};

function verdictOf(desired: typeof mcp, observed: Partial<ObservedRequest>) {
  const action = decideRequest(desired, { ...NOTHING, ...observed }, ANNOTATION);
  expect(action.do).toBe('conclude');
  return action.do === 'conclude' ? action.verdict : undefined;
}

function actionOf(desired: typeof mcp, observed: Partial<ObservedRequest>) {
  return decideRequest(desired, { ...NOTHING, ...observed }, ANNOTATION);
}

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
    expect(verdictOf(mcp, { accessRequest: accessRequest() })).toEqual(granted);
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

describe('an AccessRequest that exists', () => {
  test('granted: the Secret lies beside the request', () => {
    expect(verdictOf(mcp, { accessRequest: accessRequest() })).toEqual(granted);
  });

  test('a legacy namespace in secretRef is not followed', () => {
    const secretRef = { name: 'kubeconfig-1', namespace: 'kube-system' };
    const request = accessRequest(mcp, { phase: 'Granted', observedGeneration: 3, secretRef });
    expect(verdictOf(mcp, { accessRequest: request })).toEqual(granted);
  });

  test('granted without a Secret is not granted yet', () => {
    const request = accessRequest(mcp, { phase: 'Granted', observedGeneration: 3 });
    expect(verdictOf(mcp, { accessRequest: request })).toMatchObject({
      state: 'waiting',
      reason: 'WaitingForAccessRequest',
      message: expect.stringContaining('names no Secret') as string,
    });
  });

  test.each(['Granted', 'Denied'] as const)('%s for older permissions says nothing about the present ones', (phase) => {
    const request = accessRequest(mcp, { phase, observedGeneration: 2, secretRef: { name: 'kubeconfig-1' } });
    expect(verdictOf(mcp, { accessRequest: request })).toEqual({
      state: 'waiting',
      reason: 'WaitingForAccessRequest',
      message: `Waiting for AccessRequest ${mcp.namespace}/db--shop--mcp to be granted`,
    });
  });

  test('without a status it is waited for', () => {
    const request = accessRequest();
    delete request.status;
    expect(verdictOf(mcp, { accessRequest: request })).toMatchObject({ reason: 'WaitingForAccessRequest' });
  });

  test('denied: refused, with the reason that was given', () => {
    const conditions = [{ type: 'Granted', status: 'False', message: 'not for you' }];
    const request = accessRequest(mcp, { phase: 'Denied', observedGeneration: 3, conditions });
    expect(verdictOf(mcp, { accessRequest: request })).toEqual({
      state: 'refused',
      reason: 'AccessDenied',
      message: `AccessRequest ${mcp.namespace}/db--shop--mcp was denied: not for you`,
    });
  });

  test('being deleted: let go', () => {
    const request = accessRequest();
    request.metadata.deletionTimestamp = THEN;
    expect(actionOf(mcp, { accessRequest: request })).toEqual({ do: 'release-access-request', object: request });
  });

  test('made for an earlier object of that name: it leads to this one from now on', () => {
    const request = accessRequest();
    request.metadata.annotations = { [OBJECT_ANNOTATION]: ANNOTATION.replace('uid-1', 'uid-0') };
    expect(actionOf(mcp, { accessRequest: request })).toEqual({
      do: 'patch-access-request',
      patch: { metadata: { resourceVersion: '11', annotations: { [OBJECT_ANNOTATION]: ANNOTATION } } },
    });
  });

  test('changed permissions are patched, guarded by the version that was read', () => {
    const request = accessRequest();
    request.spec.token = { permissions: [] };
    expect(actionOf(mcp, { accessRequest: request })).toEqual({
      do: 'patch-access-request',
      patch: { metadata: { resourceVersion: '11' }, spec: { token: ACCESS } },
    });
  });

  test('rights that nobody declares any more do not survive: a patch that merges would keep them, and never settle', () => {
    const request = accessRequest();
    request.spec.token = { ...ACCESS, roleRefs: [{ kind: 'ClusterRole', name: 'cluster-admin' }] };
    expect(actionOf(mcp, { accessRequest: request })).toMatchObject({ patch: { spec: { token: { roleRefs: null } } } });
  });

  test('the same permissions with their fields in another order are no change', () => {
    const request = accessRequest();
    request.spec.token = {
      permissions: [{ rules: [{ verbs: ['get'], resources: ['secrets'], apiGroups: [''] }] }],
    };
    expect(verdictOf(mcp, { accessRequest: request })).toEqual(granted);
  });
});

describe('foreign requests are never taken over', () => {
  test.each([
    ['without labels', {}, 'openmcp.cloud/managed-by', 'db', 'not set'],
    [
      'managed by another',
      { ...mcp.ownerLabels, 'openmcp.cloud/managed-by': 'kro' },
      'openmcp.cloud/managed-by',
      'db',
      'kro',
    ],
    [
      'for another purpose',
      { ...mcp.ownerLabels, 'openmcp.cloud/managed-purpose': 'x' },
      'openmcp.cloud/managed-purpose',
      'project-a.shop.mcp',
      'x',
    ],
  ])('an AccessRequest %s', (_what, labels, label, expected, found) => {
    const request = accessRequest();
    request.metadata.labels = labels;
    expect(verdictOf(mcp, { accessRequest: request })).toEqual({
      state: 'refused',
      reason: 'ForeignRequest',
      message:
        `AccessRequest ${mcp.namespace}/db--shop--mcp already exists but is not managed by this ` +
        `controller (label ${label} is expected to be ${expected}, but is ${found})`,
    });
    expect(isOurs(mcp, request)).toBe(false);
  });

  test('a ClusterRequest, also one that is being deleted: its finalizers are not ours to touch', () => {
    const request = clusterRequest();
    request.metadata.labels = { 'openmcp.cloud/managed-by': 'kro' };
    request.metadata.deletionTimestamp = THEN;
    expect(verdictOf(workload, { clusterRequest: request })).toMatchObject({
      state: 'refused',
      reason: 'ForeignRequest',
    });
  });

  test('more labels than ours do not make a request foreign', () => {
    const request = accessRequest();
    request.metadata.labels = { ...request.metadata.labels, team: 'red' };
    expect(isOurs(mcp, request)).toBe(true);
    expect(verdictOf(mcp, { accessRequest: request })).toEqual(granted);
  });
});
