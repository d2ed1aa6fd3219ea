import { describe, expect, test } from 'vitest';
import { decideRequest } from '../../../../functions/requests/decide-request.ts';
import { decideStrays } from '../../../../functions/requests/decide-strays.ts';
import type { DesiredRequest } from '../../../../functions/requests/desired.ts';
import { madeByAnother } from '../../../../functions/requests/ownership.ts';
import type { AccessRequest, ClusterRequest } from '../../../../shared/model/access.ts';
import type { KubeObject } from '../../../../shared/model/kubernetes.ts';
import {
  ADOPTED_ANNOTATION,
  OBJECT_ANNOTATION,
  REGISTRATIONS_ANNOTATION,
  REQUEST_FINALIZER,
} from '../../../../shared/names.ts';

const KEY = { provider: 'foo', mode: 'standard', cluster: 'onboarding', namespace: 'p', name: 'a', uid: 'u1' } as const;
const ANNOTATION = 'foo|standard|onboarding|p|a|u1';
const OWNER = { 'openmcp.cloud/managed-by': 'Foo', 'openmcp.cloud/managed-purpose': 'p.a.x' };
const EXTRA = { 'openmcp.cloud/onboarding-name': 'a', 'openmcp.cloud/onboarding-namespace': 'p' };
const RULES = { permissions: [{ rules: [{ apiGroups: [''], resources: ['pods'], verbs: ['get'] }] }] };
const OIDC = {
  name: 'people',
  issuer: 'https://idp.example',
  clientID: 'c',
  groupsClaim: 'groups',
  usernameClaim: 'sub',
  roleBindings: [],
};

const wanted = (fields: Partial<DesiredRequest> = {}): DesiredRequest => ({
  id: 'x',
  namespace: 'ns',
  name: 'foo--a--x',
  ownerLabels: OWNER,
  extraLabels: EXTRA,
  ordersCluster: false,
  access: { token: RULES },
  cluster: { kind: 'request', reference: { name: 'cp', namespace: 'other' } },
  ...fields,
});
const metadata = (fields: object = {}): KubeObject['metadata'] => ({
  name: 'foo--a--x',
  namespace: 'ns',
  uid: 'r1',
  resourceVersion: '7',
  generation: 2,
  labels: { ...OWNER, ...EXTRA },
  annotations: { [OBJECT_ANNOTATION]: ANNOTATION },
  finalizers: [REQUEST_FINALIZER],
  ...fields,
});
const accessRequest = (fields: Partial<AccessRequest> = {}): AccessRequest => ({
  metadata: metadata(),
  spec: { requestRef: { name: 'cp', namespace: 'other' }, token: RULES },
  ...fields,
});
const granted = { phase: 'Granted', observedGeneration: 2, secretRef: { name: 's' } } as const;
const clusterRequest = (fields: Partial<ClusterRequest> = {}): ClusterRequest => ({
  metadata: metadata(),
  spec: { purpose: 'workload' },
  ...fields,
});
const decide = (desired: DesiredRequest, accessIs?: AccessRequest, clusterIs?: ClusterRequest, cluster?: KubeObject) =>
  decideRequest(desired, { accessRequest: accessIs, clusterRequest: clusterIs, cluster }, ANNOTATION);

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

describe('what a registration left behind', () => {
  const named = (name: string, fields: object = {}) => ({ metadata: metadata({ name, ...fields }) });
  const strays = (...accessRequests: KubeObject[]) =>
    decideStrays(KEY, [wanted()], { accessRequests, clusterRequests: [] }).map(({ identity }) => identity.name);

  test('is what was made for the object and is not registered', () => {
    expect(strays(named('foo--a--x'), named('foo--a--y'))).toEqual(['foo--a--y']);
  });

  test('is recognised by its labels where another runtime made it', () => {
    expect(strays(named('foo--a--y', { annotations: {} }))).toEqual(['foo--a--y']);
    expect(strays(named('foo--a--y', { annotations: {}, labels: { ...OWNER } }))).toEqual([]);
  });

  test("is nobody else's", () => {
    expect(
      strays(named('foo--b--y', { annotations: { [OBJECT_ANNOTATION]: ANNOTATION.replace('|a|', '|b|') } })),
    ).toEqual([]);
    expect(strays(named('hand-made', { finalizers: [] }))).toEqual([]);
    expect(strays(named('hand-made', { labels: { 'openmcp.cloud/managed-by': 'Foo' } }))).toEqual([]);
  });

  test('is the ClusterRequest alone where a cluster of its own became one that exists', () => {
    const found = { accessRequests: [named('foo--a--x')], clusterRequests: [named('foo--a--x')] };
    expect(decideStrays(KEY, [wanted()], found)).toMatchObject([
      { kind: 'ClusterRequest', identity: { name: 'foo--a--x' } },
    ]);
    expect(decideStrays(KEY, [wanted({ ordersCluster: true })], found)).toEqual([]);
  });
});

describe('what an object was served with', () => {
  const registrations = { fingerprint: 'now', fresh: true };
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

  test('is compared with what it is served with now', () => {
    expect(verdictWith('now').otherRegistrations).toBeUndefined();
    expect(verdictWith('before').otherRegistrations).toBe(true);
    expect(verdictWith(undefined).otherRegistrations).toBe(true);
  });
});
