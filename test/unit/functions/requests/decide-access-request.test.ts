import { describe, expect, test } from 'vitest';
import { isOurs } from '../../../../functions/requests/ownership.ts';
import { OBJECT_ANNOTATION } from '../../../../shared/names.ts';
import { THEN } from '../objects.ts';
import {
  ACCESS,
  ANNOTATION,
  mcp,
  workload,
  clusterRequest,
  accessRequest,
  granted,
  verdictOf,
  actionOf,
} from './simple-access.ts';

describe('an AccessRequest that exists', () => {
  test('granted: the Secret lies beside the request', () => {
    expect(verdictOf(mcp, { accessRequest: accessRequest() })).toMatchObject(granted);
  });

  test('a legacy namespace in secretRef is not followed', () => {
    const secretRef = { name: 'kubeconfig-1', namespace: 'kube-system' };
    const request = accessRequest(mcp, { phase: 'Granted', observedGeneration: 3, secretRef });
    expect(verdictOf(mcp, { accessRequest: request })).toMatchObject(granted);
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
    expect(verdictOf(mcp, { accessRequest: request })).toMatchObject(granted);
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
    expect(verdictOf(mcp, { accessRequest: request })).toMatchObject(granted);
  });
});
