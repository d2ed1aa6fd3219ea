import { type AccessRequest, type ClusterRequest } from '../../shared/model/access.ts';
import { cut } from '../../shared/errors.ts';
import { equal, mergePatchOf } from '../../shared/model/json.ts';
import type { KubeObject } from '../../shared/model/kubernetes.ts';
import { parseObjectKey } from '../../shared/model/object-key.ts';
import { REGISTRATIONS_ANNOTATION } from '../../shared/names.ts';
import { isDeleting } from '../../shared/status.ts';
import { REASONS_BEFORE_INSTALL as REASON } from '../step/flow.ts';
import type { DesiredRequest } from './desired.ts';
import { foreignRequest, isOurs, metadataPatch, neverOurs, readRegistrations, skeleton } from './ownership.ts';
import { marksOf } from '../step/marks.ts';
import type { Verdict } from '../step/verdict.ts';
import { EARLIER_OBJECT_RETRY_MS, LOOK_AGAIN_MS } from '../tuning.ts';

/** The requests of one registration as they are on the platform cluster. */
export interface ObservedRequest {
  clusterRequest: ClusterRequest | undefined;
  accessRequest: AccessRequest | undefined;
  /** Looked up for a registration of an existing Cluster only, and only before there is an AccessRequest. */
  cluster?: KubeObject | undefined;
}

export type RequestAction =
  | { readonly do: 'create-cluster-request'; readonly object: ClusterRequest }
  | { readonly do: 'create-access-request'; readonly object: AccessRequest }
  | { readonly do: 'patch-cluster-request'; readonly patch: object }
  | { readonly do: 'patch-access-request'; readonly patch: object }
  /** Not wanted any more, or for another cluster. */
  | { readonly do: 'remove-access-request'; readonly object: AccessRequest }
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
  const cluster =
    desired.cluster.kind === 'order'
      ? decideOrderedCluster(desired, observed.clusterRequest, annotation)
      : decideExisting(desired, observed);
  return cluster ?? decideAccess(desired, observed, annotation);
}

/** The first of our requests that is on its way out without that we ever had a hand in it. */
export function beingRemoved(desired: DesiredRequest, observed: ObservedRequest): KubeObject | undefined {
  const cluster = desired.cluster.kind === 'order' ? observed.clusterRequest : undefined;
  return [observed.accessRequest, cluster].find(
    (one) => one && isDeleting(one) && isOurs(desired, one) && neverOurs(one),
  );
}

function decideOrderedCluster(
  desired: DesiredRequest,
  request: ClusterRequest | undefined,
  annotation: string,
): RequestAction | undefined {
  if (!request)
    return {
      do: 'create-cluster-request',
      object: { ...skeleton(desired, annotation), spec: orderOf(desired) },
    };
  const foreign = foreignRequest(desired, request, 'ClusterRequest');
  if (foreign) return conclude(foreign);
  if (isDeleting(request)) return { do: 'release-cluster-request', object: request };
  const patch = metadataPatch(desired, request, annotation);
  if (patch) return { do: 'patch-cluster-request', patch };
  return awaitCluster(request);
}

function orderOf({ cluster }: DesiredRequest): ClusterRequest['spec'] {
  if (cluster.kind !== 'order') throw new Error('only an ordered cluster has a ClusterRequest of ours');
  return cluster.spec;
}

function decideExisting(desired: DesiredRequest, observed: ObservedRequest): RequestAction | undefined {
  const { cluster } = desired;
  // What was granted stays usable while the cluster is on its way out: the provider's delete needs it.
  if (cluster.kind === 'order' || observed.accessRequest) return undefined;
  if (cluster.kind === 'request' && observed.clusterRequest) {
    const waiting = awaitCluster(observed.clusterRequest);
    return waiting && desired.id !== 'mcp' ? lookAgain(waiting) : waiting;
  }
  if (cluster.kind === 'cluster' && observed.cluster) return undefined;
  const { name, namespace } = cluster.reference;
  if (desired.id === 'mcp')
    return conclude({
      state: 'waiting',
      reason: REASON.controlPlaneNotFound,
      message: `No ControlPlane of that name: ClusterRequest ${namespace}/${name} does not exist on the platform cluster`,
      nothingCreated: true,
    });
  const kind = cluster.kind === 'cluster' ? 'Cluster' : 'ClusterRequest';
  return conclude({
    state: 'waiting',
    reason: cluster.kind === 'cluster' ? REASON.clusterNotFound : REASON.clusterRequestNotFound,
    message: `${kind} ${namespace}/${name}, which access.clusters.${desired.id} names, does not exist on the platform cluster`,
    retryAfterMs: LOOK_AGAIN_MS,
  });
}

function lookAgain(action: RequestAction): RequestAction {
  if (action.do !== 'conclude' || action.verdict.state !== 'waiting') return action;
  return conclude({ ...action.verdict, retryAfterMs: LOOK_AGAIN_MS });
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
  const { access } = desired;
  if (!accessRequest) {
    if (!access) return conclude({ state: 'ordered' });
    return {
      do: 'create-access-request',
      object: { ...skeleton(desired, annotation), spec: { ...referenceOf(desired), ...access } },
    };
  }
  const foreign = foreignRequest(desired, accessRequest, 'AccessRequest');
  // Another one's of a name that isn't needed is nobody's concern.
  if (foreign) return conclude(access ? foreign : { state: 'ordered' });
  const earlier = endOfEarlier(desired, accessRequest, annotation);
  if (earlier) return conclude(earlier);
  if (!access)
    return desired.keep ? conclude({ state: 'ordered' }) : { do: 'remove-access-request', object: accessRequest };
  if (isDeleting(accessRequest)) return { do: 'release-access-request', object: accessRequest };
  // The reference can't be changed.
  if (refersElsewhere(desired, accessRequest)) return { do: 'remove-access-request', object: accessRequest };
  const metadata = metadataPatch(desired, accessRequest, annotation);
  const { token, oidc } = accessRequest.spec;
  const spec = mergePatchOf({ ...(token ? { token } : {}), ...(oidc ? { oidc } : {}) }, access);
  if (metadata || spec)
    return {
      do: 'patch-access-request',
      patch: {
        metadata: { resourceVersion: accessRequest.metadata.resourceVersion, ...metadata?.metadata },
        ...(spec ? { spec } : {}),
      },
    };
  return conclude(verdictOn(desired, accessRequest));
}

/** An object of the same name that is gone, and whose access is being removed: it has to be gone first. */
function endOfEarlier(desired: DesiredRequest, request: AccessRequest, annotation: string): Verdict | undefined {
  if (desired.id !== 'mcp') return undefined;
  const { uninstalled } = marksOf(request, true);
  if (uninstalled === undefined || uninstalled === parseObjectKey(annotation)?.uid) return undefined;
  return {
    state: 'waiting',
    reason: REASON.waitingForEarlierObject,
    message: 'An earlier object of this name is gone, and its access is still being removed',
    retryAfterMs: EARLIER_OBJECT_RETRY_MS,
    nothingCreated: true,
  };
}

function referenceOf({
  cluster,
  name,
  namespace,
}: DesiredRequest): Pick<AccessRequest['spec'], 'clusterRef' | 'requestRef'> {
  if (cluster.kind === 'cluster') return { clusterRef: cluster.reference };
  return { requestRef: cluster.kind === 'request' ? cluster.reference : { name, namespace } };
}

/** The operator fills in `clusterRef` where `requestRef` was given. */
function refersElsewhere(desired: DesiredRequest, { spec }: AccessRequest): boolean {
  const { clusterRef, requestRef } = referenceOf(desired);
  if (requestRef) return spec.requestRef !== undefined && !equal(requestRef, spec.requestRef);
  return spec.clusterRef !== undefined && !equal(clusterRef, spec.clusterRef);
}

function verdictOn({ id, registrations }: DesiredRequest, request: AccessRequest): Verdict {
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
        secret: {
          name: status.secretRef.name,
          namespace: metadata.namespace ?? '',
          key: 'kubeconfig',
          ...(request.spec.oidc ? { forPeople: true } : {}),
        },
        ...(id === 'mcp' ? { marks: marksOf(request, true) } : {}),
        ...(registrations &&
        readRegistrations(metadata.annotations?.[REGISTRATIONS_ANNOTATION]).fingerprint !== registrations.fingerprint
          ? { otherRegistrations: true }
          : {}),
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

function denied(where: string, request: AccessRequest | ClusterRequest): Verdict {
  return { state: 'refused', reason: REASON.accessDenied, message: `${where} was denied${explanation(request)}` };
}

const MAX_EXPLANATION = 1_024;

/** In the words of whoever answers the request. */
function explanation(request: AccessRequest | ClusterRequest): string {
  const said = request.status?.conditions?.find((condition) => condition.status === 'False' && condition.message);
  return said?.message ? `: ${cut(said.message, MAX_EXPLANATION)}` : '';
}

function conclude(verdict: Verdict): RequestAction {
  return { do: 'conclude', verdict };
}
