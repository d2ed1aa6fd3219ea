import { decideRequest } from '../../../../functions/requests/decide-request.ts';
import type { DesiredRequest } from '../../../../functions/requests/desired.ts';
import type { AccessRequest, ClusterRequest } from '../../../../shared/model/access.ts';
import type { KubeObject } from '../../../../shared/model/kubernetes.ts';
import { OBJECT_ANNOTATION, REQUEST_FINALIZER } from '../../../../shared/names.ts';

/** What an object registers, and the requests that answer it; each field as a test wants it. */

export const KEY = {
  provider: 'foo',
  mode: 'standard',
  cluster: 'onboarding',
  namespace: 'p',
  name: 'a',
  uid: 'u1',
} as const;
export const ANNOTATION = 'foo|standard|onboarding|p|a|u1';
export const OWNER = { 'openmcp.cloud/managed-by': 'Foo', 'openmcp.cloud/managed-purpose': 'p.a.x' };
export const EXTRA = { 'openmcp.cloud/onboarding-name': 'a', 'openmcp.cloud/onboarding-namespace': 'p' };
export const RULES = { permissions: [{ rules: [{ apiGroups: [''], resources: ['pods'], verbs: ['get'] }] }] };
export const OIDC = {
  name: 'people',
  issuer: 'https://idp.example',
  clientID: 'c',
  groupsClaim: 'groups',
  usernameClaim: 'sub',
  roleBindings: [],
};

export const wanted = (fields: Partial<DesiredRequest> = {}): DesiredRequest => ({
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
export const metadata = (fields: object = {}): KubeObject['metadata'] => ({
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
export const accessRequest = (fields: Partial<AccessRequest> = {}): AccessRequest => ({
  metadata: metadata(),
  spec: { requestRef: { name: 'cp', namespace: 'other' }, token: RULES },
  ...fields,
});
export const granted = { phase: 'Granted', observedGeneration: 2, secretRef: { name: 's' } } as const;
export const clusterRequest = (fields: Partial<ClusterRequest> = {}): ClusterRequest => ({
  metadata: metadata(),
  spec: { purpose: 'workload' },
  ...fields,
});
export const decide = (
  desired: DesiredRequest,
  accessIs?: AccessRequest,
  clusterIs?: ClusterRequest,
  cluster?: KubeObject,
) => decideRequest(desired, { accessRequest: accessIs, clusterRequest: clusterIs, cluster }, ANNOTATION);
