import { hasFinalizer } from '../../shared/finalizers.ts';
import { type AccessRequest, type ClusterRequest } from '../../shared/model/access.ts';
import { mergePatchOf } from '../../shared/model/json.ts';
import type { KubeObject } from '../../shared/model/kubernetes.ts';
import { OBJECT_ANNOTATION, REQUEST_FINALIZER } from '../../shared/names.ts';
import { isDeleting } from '../../shared/status.ts';
import { REASONS_BEFORE_INSTALL as REASON } from '../flow.ts';
import type { DesiredRequest } from './desired.ts';
import type { Verdict } from './verdict.ts';

/** The requests of one registration as they are on the platform cluster. */
export interface ObservedRequest {
  clusterRequest: ClusterRequest | undefined;
  accessRequest: AccessRequest | undefined;
}

export type RequestAction =
  | { readonly do: 'create-cluster-request'; readonly object: ClusterRequest }
  | { readonly do: 'create-access-request'; readonly object: AccessRequest }
  | { readonly do: 'patch-cluster-request'; readonly patch: object }
  | { readonly do: 'patch-access-request'; readonly patch: object }
  /** Somebody else is removing it: let go of it, so that it can be ordered again. */
  | { readonly do: 'release-access-request'; readonly object: AccessRequest }
  | { readonly do: 'release-cluster-request'; readonly object: ClusterRequest }
  | { readonly do: 'conclude'; readonly verdict: Verdict };

/**
 * The next step towards the access that is desired; follows `Reconcile` of `clusteraccess/advanced`, except that a
 * request which somebody else removed is let go and ordered again.
 * @param annotation value of the annotation that leads from a request to its object
 */
export function decideRequest(desired: DesiredRequest, observed: ObservedRequest, annotation: string): RequestAction {
  return desired.cluster.kind === 'order'
    ? (decideOrderedCluster(desired, observed.clusterRequest, annotation) ??
        decideAccess(desired, observed, annotation))
    : (decideExistingCluster(desired, observed) ?? decideAccess(desired, observed, annotation));
}

/** The first of our requests that is on its way out. */
export function beingRemoved(desired: DesiredRequest, observed: ObservedRequest): KubeObject | undefined {
  const cluster = desired.cluster.kind === 'order' ? observed.clusterRequest : undefined;
  return [observed.accessRequest, cluster].find((one) => one && isDeleting(one) && isOurs(desired, one));
}

function decideOrderedCluster(
  desired: DesiredRequest,
  request: ClusterRequest | undefined,
  annotation: string,
): RequestAction | undefined {
  if (!request)
    return {
      do: 'create-cluster-request',
      object: {
        ...skeleton(desired, annotation),
        spec: { purpose: (desired.cluster as { purpose: string }).purpose },
      },
    };
  const foreign = foreignRequest(desired, request, 'ClusterRequest');
  if (foreign) return foreign;
  if (isDeleting(request)) return { do: 'release-cluster-request', object: request };
  const patch = metadataPatch(desired, request, annotation);
  if (patch) return { do: 'patch-cluster-request', patch };
  return awaitCluster(request);
}

function decideExistingCluster(desired: DesiredRequest, { clusterRequest, accessRequest }: ObservedRequest) {
  // What was granted stays usable while the ControlPlane is on its way out: the provider's delete needs it.
  if (accessRequest) return undefined;
  if (clusterRequest) return awaitCluster(clusterRequest);
  const { name, namespace } = (desired.cluster as { request: { name: string; namespace: string } }).request;
  return conclude({
    state: 'waiting',
    reason: REASON.controlPlaneNotFound,
    message: `No ControlPlane of that name: ClusterRequest ${namespace}/${name} does not exist on the platform cluster`,
    nothingCreated: true,
  });
}

function awaitCluster(request: ClusterRequest): RequestAction | undefined {
  const phase = request.status?.phase;
  if (phase === 'Granted') return undefined;
  const where = `ClusterRequest ${request.metadata.namespace}/${request.metadata.name}`;
  if (phase === 'Denied') return conclude(denied(where, request));
  return conclude({
    state: 'waiting',
    reason: REASON.waitingForClusterRequest,
    message: `Waiting for ${where} to be granted${explanation(request)}`,
  });
}

function decideAccess(desired: DesiredRequest, { accessRequest }: ObservedRequest, annotation: string): RequestAction {
  if (!accessRequest)
    return {
      do: 'create-access-request',
      object: {
        ...skeleton(desired, annotation),
        spec: {
          requestRef:
            desired.cluster.kind === 'existing'
              ? desired.cluster.request
              : { name: desired.name, namespace: desired.namespace },
          token: desired.access,
        },
      },
    };
  const foreign = foreignRequest(desired, accessRequest, 'AccessRequest');
  if (foreign) return foreign;
  if (isDeleting(accessRequest)) return { do: 'release-access-request', object: accessRequest };
  const metadata = metadataPatch(desired, accessRequest, annotation);
  const token = mergePatchOf(accessRequest.spec.token, desired.access);
  if (metadata || token)
    return {
      do: 'patch-access-request',
      patch: {
        metadata: { resourceVersion: accessRequest.metadata.resourceVersion, ...metadata?.metadata },
        ...(token ? { spec: { token } } : {}),
      },
    };
  return conclude(judgeAccess(accessRequest));
}

function judgeAccess(request: AccessRequest): Verdict {
  const { metadata, status } = request;
  const where = `AccessRequest ${metadata.namespace}/${metadata.name}`;
  // Not yet about the permissions that are asked now; Go waits for the same.
  const current = status?.observedGeneration === metadata.generation;
  if (status?.phase === 'Denied' && current) return denied(where, request);
  if (status?.phase === 'Granted' && current) {
    if (status.secretRef)
      return {
        state: 'granted',
        // The Secret is always beside its request, whatever an old `secretRef.namespace` says.
        secret: { name: status.secretRef.name, namespace: metadata.namespace ?? '', key: 'kubeconfig' },
      };
    return {
      state: 'waiting',
      reason: REASON.waitingForAccessRequest,
      message: `${where} is granted, but names no Secret`,
    };
  }
  return {
    state: 'waiting',
    reason: REASON.waitingForAccessRequest,
    message: `Waiting for ${where} to be granted${explanation(request)}`,
  };
}

/** Ownership is managed-by and managed-purpose; a request of that name without them is never taken over. */
export function isOurs(desired: Pick<DesiredRequest, 'ownerLabels'>, request: KubeObject): boolean {
  return Object.entries(desired.ownerLabels).every(([label, value]) => request.metadata.labels?.[label] === value);
}

function foreignRequest(desired: DesiredRequest, request: KubeObject, kind: string): RequestAction | undefined {
  if (isOurs(desired, request)) return undefined;
  const [label, value] = Object.entries(desired.ownerLabels).find(
    ([label, value]) => request.metadata.labels?.[label] !== value,
  ) as [string, string];
  return conclude({
    state: 'refused',
    reason: REASON.foreignRequest,
    message:
      `${kind} ${request.metadata.namespace}/${request.metadata.name} already exists but is not managed by this ` +
      `controller (label ${label} is expected to be ${value}, but is ${request.metadata.labels?.[label] ?? 'not set'})`,
  });
}

function skeleton(desired: DesiredRequest, annotation: string): KubeObject {
  return {
    metadata: {
      name: desired.name,
      namespace: desired.namespace,
      labels: { ...desired.extraLabels, ...desired.ownerLabels },
      annotations: { [OBJECT_ANNOTATION]: annotation },
      finalizers: [REQUEST_FINALIZER],
    },
  };
}

/** What is missing on a request that was made by another runtime, or by an earlier incarnation of the object. */
function metadataPatch(
  desired: DesiredRequest,
  request: KubeObject,
  annotation: string,
): { metadata: Record<string, unknown> } | undefined {
  const metadata: Record<string, unknown> = {};
  if (request.metadata.annotations?.[OBJECT_ANNOTATION] !== annotation)
    metadata['annotations'] = { [OBJECT_ANNOTATION]: annotation };
  const missing = Object.entries(desired.extraLabels).filter(
    ([name, value]) => request.metadata.labels?.[name] !== value,
  );
  if (missing.length > 0) metadata['labels'] = Object.fromEntries(missing);
  if (!hasFinalizer(request, REQUEST_FINALIZER))
    metadata['finalizers'] = [...(request.metadata.finalizers ?? []), REQUEST_FINALIZER];
  if (Object.keys(metadata).length === 0) return undefined;
  return { metadata: { resourceVersion: request.metadata.resourceVersion, ...metadata } };
}

function denied(where: string, request: AccessRequest | ClusterRequest): Verdict {
  return { state: 'refused', reason: REASON.accessDenied, message: `${where} was denied${explanation(request)}` };
}

/** In the words of whoever answers the request. */
function explanation(request: AccessRequest | ClusterRequest): string {
  const said = request.status?.conditions?.find((condition) => condition.status === 'False' && condition.message);
  return said ? `: ${said.message}` : '';
}

function conclude(verdict: Verdict): RequestAction {
  return { do: 'conclude', verdict };
}
