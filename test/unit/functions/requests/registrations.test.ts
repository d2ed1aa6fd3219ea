import { describe, expect, test } from 'vitest';
import { madeByAnother } from '../../../../functions/requests/ownership.ts';
import {
  ADOPTED_ANNOTATION,
  OBJECT_ANNOTATION,
  REGISTRATIONS_ANNOTATION,
  REQUEST_FINALIZER,
} from '../../../../shared/names.ts';
import {
  accessRequest,
  ANNOTATION,
  clusterRequest,
  decide,
  EXTRA,
  granted,
  metadata,
  OIDC,
  OWNER,
  RULES,
  wanted,
} from './registration.ts';

describe("somebody else's ClusterRequest", () => {
  const theirs = clusterRequest({ metadata: { name: 'cp', namespace: 'other' }, status: { phase: 'Granted' } });

  test('that does not exist is a ControlPlane that is missing, for the end user cluster', () => {
    expect(decide(wanted({ id: 'mcp' }))).toMatchObject({
      verdict: { state: 'waiting', reason: 'ControlPlaneNotFound', nothingCreated: true },
    });
  });

  test('that does not exist is said with its field, and looked for again, for any other', () => {
    expect(decide(wanted())).toMatchObject({
      verdict: {
        reason: 'ClusterRequestNotFound',
        message: 'ClusterRequest other/cp, which access.clusters.x names, does not exist on the platform cluster',
        retryAfterMs: 10_000,
      },
    });
  });

  test('that is not granted is waited for, and that is granted gets an AccessRequest', () => {
    expect(decide(wanted(), undefined, { ...theirs, status: {} })).toMatchObject({
      verdict: { reason: 'WaitingForClusterRequest', retryAfterMs: 10_000 },
    });
    expect(decide(wanted(), undefined, theirs)).toEqual({
      do: 'create-access-request',
      object: {
        metadata: {
          name: 'foo--a--x',
          namespace: 'ns',
          labels: { ...EXTRA, ...OWNER },
          annotations: { [OBJECT_ANNOTATION]: ANNOTATION },
          finalizers: [REQUEST_FINALIZER],
        },
        spec: { requestRef: { name: 'cp', namespace: 'other' }, token: RULES },
      },
    });
  });
});

describe('a Cluster that exists', () => {
  const registration = wanted({ cluster: { kind: 'cluster', reference: { name: 'c', namespace: 'sys' } } });

  test('is referred to directly', () => {
    expect(decide(registration, undefined, undefined, { metadata: { name: 'c' } })).toMatchObject({
      do: 'create-access-request',
      object: { spec: { clusterRef: { name: 'c', namespace: 'sys' } } },
    });
  });

  test('is said to be missing', () => {
    expect(decide(registration)).toMatchObject({ verdict: { reason: 'ClusterNotFound', retryAfterMs: 10_000 } });
  });

  test('and another one takes a new AccessRequest, since references can not be changed', () => {
    const spec = { clusterRef: { name: 'before', namespace: 'sys' }, token: RULES };
    expect(decide(registration, accessRequest({ spec }))).toMatchObject({ do: 'remove-access-request' });
  });

  test('that the operator filled in beside the request is no change', () => {
    const spec = { ...accessRequest().spec, clusterRef: { name: 'c', namespace: 'sys' } };
    expect(decide(wanted(), accessRequest({ spec, status: granted }))).toMatchObject({ verdict: { state: 'granted' } });
  });
});

describe('an AccessRequest', () => {
  test('with other rights is changed, and waited for until the answer is about them', () => {
    const spec = { ...accessRequest().spec, token: { permissions: [] } };
    expect(decide(wanted(), accessRequest({ spec, status: granted }))).toEqual({
      do: 'patch-access-request',
      patch: { metadata: { resourceVersion: '7' }, spec: { token: RULES } },
    });
    const stale = accessRequest({ status: { ...granted, observedGeneration: 1 } });
    expect(decide(wanted(), stale)).toMatchObject({ verdict: { state: 'waiting', reason: 'WaitingForAccessRequest' } });
    expect(
      decide(wanted(), accessRequest({ status: { ...granted, phase: 'Denied', observedGeneration: 1 } })),
    ).toMatchObject({ verdict: { state: 'waiting' } });
  });

  test('moves from token to login and back', () => {
    expect(decide(wanted({ access: { oidc: OIDC } }), accessRequest({ status: granted }))).toMatchObject({
      patch: { spec: { token: null, oidc: OIDC } },
    });
    const people = accessRequest({
      spec: { requestRef: { name: 'cp', namespace: 'other' }, oidc: OIDC },
      status: granted,
    });
    expect(decide(wanted(), people)).toMatchObject({ patch: { spec: { oidc: null, token: RULES } } });
    expect(decide(wanted({ access: { oidc: OIDC } }), people)).toMatchObject({
      verdict: { state: 'granted', secret: { forPeople: true } },
    });
  });

  test('that is not wanted any more is removed, another one of that name is not', () => {
    expect(decide(wanted({ access: undefined }), accessRequest())).toMatchObject({ do: 'remove-access-request' });
    const foreign = accessRequest({ metadata: metadata({ labels: {} }) });
    expect(decide(wanted({ access: undefined }), foreign)).toEqual({ do: 'conclude', verdict: { state: 'ordered' } });
    expect(decide(wanted(), foreign)).toMatchObject({ verdict: { state: 'refused', reason: 'ForeignRequest' } });
  });

  test('of another runtime is taken over with a mark, and other labels are kept', () => {
    const go = accessRequest({
      metadata: metadata({ annotations: { theirs: '1' }, labels: { ...OWNER, theirs: '1' } }),
    });
    expect(madeByAnother(go)).toBe(true);
    expect(decide(wanted(), go)).toEqual({
      do: 'patch-access-request',
      patch: {
        metadata: {
          resourceVersion: '7',
          annotations: { [OBJECT_ANNOTATION]: ANNOTATION, [ADOPTED_ANNOTATION]: 'true' },
          labels: EXTRA,
        },
      },
    });
    expect(madeByAnother(accessRequest())).toBe(false);
    const adopted = { [OBJECT_ANNOTATION]: ANNOTATION, [ADOPTED_ANNOTATION]: 'true' };
    expect(madeByAnother(accessRequest({ metadata: metadata({ annotations: adopted }) }))).toBe(true);
  });

  test('of an earlier object of that name is taken over without one', () => {
    const before = accessRequest({ metadata: metadata({ annotations: { [OBJECT_ANNOTATION]: `${ANNOTATION}0` } }) });
    expect(decide(wanted(), before)).toMatchObject({
      patch: { metadata: { annotations: { [OBJECT_ANNOTATION]: ANNOTATION } } },
    });
    expect(JSON.stringify(decide(wanted(), before))).not.toContain(ADOPTED_ANNOTATION);
  });
});

test('a cluster of its own is ordered with its spec, and needs no access', () => {
  const spec = { purpose: 'observability', waitForClusterDeletion: true };
  const registration = wanted({ cluster: { kind: 'order', spec }, ordersCluster: true, access: undefined });
  expect(decide(registration)).toMatchObject({ do: 'create-cluster-request', object: { spec } });
  expect(decide(registration, undefined, clusterRequest({ status: { phase: 'Granted' } }))).toEqual({
    do: 'conclude',
    verdict: { state: 'ordered' },
  });
});

describe('what an object was served with', () => {
  const registrations = { fingerprint: 'now', hidden: [], fresh: true };
  const verdictWith = (value: string | undefined) => {
    const annotations = { [OBJECT_ANNOTATION]: ANNOTATION, ...(value ? { [REGISTRATIONS_ANNOTATION]: value } : {}) };
    const request = accessRequest({ metadata: metadata({ annotations }), status: granted });
    return (decide(wanted({ registrations }), request) as { verdict: { otherRegistrations?: true } }).verdict;
  };

  test('is on its first request from the beginning, if nothing was installed before', () => {
    const reference = clusterRequest({ status: { phase: 'Granted' } });
    const made = (fresh: boolean) =>
      JSON.stringify(decide(wanted({ registrations: { ...registrations, fresh } }), undefined, reference));
    expect(made(true)).toContain(REGISTRATIONS_ANNOTATION);
    expect(made(false)).not.toContain(REGISTRATIONS_ANNOTATION);
  });

  test('names what labels would not lead to, before that is ordered, and until it is removed', () => {
    const hidden = ['elsewhere/foo--a--y*'];
    const patched = (value: string | undefined) => {
      const annotations = { [OBJECT_ANNOTATION]: ANNOTATION, ...(value ? { [REGISTRATIONS_ANNOTATION]: value } : {}) };
      const request = accessRequest({ metadata: metadata({ annotations }), status: granted });
      const action = decide(wanted({ registrations: { ...registrations, hidden } }), request);
      return action.do === 'patch-access-request' ? action.patch : undefined;
    };
    const patch = (value: string) => ({ metadata: { annotations: { [REGISTRATIONS_ANNOTATION]: value } } });
    expect(patched('before')).toMatchObject(patch('before elsewhere/foo--a--y*'));
    expect(patched('before old/foo--a--z')).toMatchObject(patch('before old/foo--a--z elsewhere/foo--a--y*'));
    expect(patched(undefined)).toMatchObject(patch('unknown elsewhere/foo--a--y*'));
    expect(patched('now elsewhere/foo--a--y*')).toBeUndefined();
  });

  test('is compared with what it is served with now', () => {
    expect(verdictWith('now').otherRegistrations).toBeUndefined();
    expect(verdictWith('before').otherRegistrations).toBe(true);
    expect(verdictWith(undefined).otherRegistrations).toBe(true);
  });
});
