import { expect } from 'vitest';
import { decideRequest, type ObservedRequest } from '../../../../functions/requests/decide-request.ts';
import { desiredMcpRequest, desiredWorkloadRequest } from '../../../../functions/requests/desired.ts';
import type { AccessRequest, AccessSpec, ClusterRequest } from '../../../../shared/model/access.ts';
import { OBJECT_ANNOTATION, REQUEST_FINALIZER } from '../../../../shared/names.ts';
import { provider, standardKey } from '../objects.ts';

/** Access as most providers ask for it: to the control plane, and to a workload cluster. */

export const ACCESS: AccessSpec = {
  permissions: [{ rules: [{ apiGroups: [''], resources: ['secrets'], verbs: ['get'] }] }],
};
export const ANNOTATION = 'db|standard|onboarding|project-a|shop|uid-1';
export const mcp = desiredMcpRequest(standardKey, provider, { token: ACCESS });
export const workload = desiredWorkloadRequest(standardKey, provider, { token: ACCESS });
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
export function clusterRequest(status: ClusterRequest['status'] = { phase: 'Granted' }): ClusterRequest {
  return { metadata: metadata(workload), spec: { purpose: 'workload' }, ...(status ? { status } : {}) };
}

/** The control plane's own ClusterRequest, which carries nothing of ours. */
export function controlPlane(status: ClusterRequest['status'] = { phase: 'Granted' }): ClusterRequest {
  return {
    metadata: { name: 'shop', namespace: mcp.namespace },
    spec: { purpose: 'mcp' },
    ...(status ? { status } : {}),
  };
}

/** An AccessRequest of ours, granted for the present spec unless told otherwise. */
export function accessRequest(
  desired = mcp,
  status: AccessRequest['status'] = { phase: 'Granted', observedGeneration: 3, secretRef: { name: 'kubeconfig-1' } },
): AccessRequest {
  return {
    metadata: metadata(desired),
    spec: { requestRef: { name: 'shop', namespace: mcp.namespace }, token: structuredClone(ACCESS) },
    status,
  };
}

export const granted = {
  state: 'granted',
  secret: { name: 'kubeconfig-1', namespace: mcp.namespace, key: 'kubeconfig' },
};

export function verdictOf(desired: typeof mcp, observed: Partial<ObservedRequest>) {
  const action = decideRequest(desired, { ...NOTHING, ...observed }, ANNOTATION);
  expect(action.do).toBe('conclude');
  return action.do === 'conclude' ? action.verdict : undefined;
}

export function actionOf(desired: typeof mcp, observed: Partial<ObservedRequest>) {
  return decideRequest(desired, { ...NOTHING, ...observed }, ANNOTATION);
}
