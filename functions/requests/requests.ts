import { isGone } from '../../shared/kube/api-error.ts';
import { createOrGet } from '../../shared/kube/create.ts';
import type { KubeClient } from '../../shared/kube/ports.ts';
import { ACCESS_REQUESTS, CLUSTER_REQUESTS, CLUSTERS } from '../../shared/kube/resources.ts';
import type { AccessRequest, ClusterRequest } from '../../shared/model/access.ts';
import type { KubeObject, ResourceType } from '../../shared/model/kubernetes.ts';
import { ADOPTED_ANNOTATION, OBJECT_ANNOTATION, REQUEST_FINALIZER } from '../../shared/names.ts';
import { REASONS_BEFORE_INSTALL as REASON } from '../step/flow.ts';
import { beingRemoved, decideRequest, type ObservedRequest } from './decide-request.ts';
import type { DesiredRequest, RequestIdentity } from './desired.ts';
import { withoutCluster } from './gone.ts';
import { isOurs, neverOurs } from './ownership.ts';
import type { Verdict } from '../step/verdict.ts';
import { MAX_REQUEST_STEPS } from '../tuning.ts';

export async function observeRequest(platform: KubeClient, desired: DesiredRequest): Promise<ObservedRequest> {
  const own = await observeOwn(platform, desired);
  // Once there is an AccessRequest, nothing is decided by what it refers to any more.
  if (desired.cluster.kind === 'order' || own.accessRequest) return own;
  const { kind, reference } = desired.cluster;
  return kind === 'request'
    ? { ...own, clusterRequest: await platform.get(CLUSTER_REQUESTS, reference.name, reference.namespace) }
    : { ...own, cluster: await platform.get(CLUSTERS, reference.name, reference.namespace) };
}

/** The requests that bear our name. */
async function observeOwn(
  platform: KubeClient,
  { cluster, name, namespace }: DesiredRequest,
): Promise<ObservedRequest> {
  const [clusterRequest, accessRequest] = await Promise.all([
    cluster.kind === 'order' ? platform.get<ClusterRequest>(CLUSTER_REQUESTS, name, namespace) : undefined,
    platform.get<AccessRequest>(ACCESS_REQUESTS, name, namespace),
  ]);
  return { clusterRequest, accessRequest };
}

/**
 * What is there, without changing anything: `waiting` where {@link ensureRequest} would have something to do.
 * @param deleting of an object that is being deleted
 */
export async function judgeRequest(
  platform: KubeClient,
  desired: DesiredRequest,
  annotation: string,
  deleting: boolean,
): Promise<Verdict> {
  const observed = await observeOwn(platform, desired);
  const going = beingRemoved(desired, observed);
  if (going) return terminating(going);
  const gone = deleting && (await withoutCluster(platform, desired, observed));
  if (gone) return gone;
  const due = (what: string): Verdict => ({
    state: 'waiting',
    reason: REASON.requestKeepsChanging,
    message: `${what} is due`,
  });
  // Whether what it would refer to exists is for whoever makes it to look at.
  if (desired.cluster.kind !== 'order' && !observed.accessRequest)
    return desired.access ? due('create-access-request') : { state: 'ordered' };
  const action = decideRequest(desired, observed, annotation);
  return action.do === 'conclude' ? action.verdict : due(action.do);
}

/**
 * Takes all steps towards the desired access that can be taken now.
 * @param deleting of an object that is being deleted: a request that is being removed is not let go, which is
 * `terminating`, and a cluster that went before it is `gone`
 */
export async function ensureRequest(
  platform: KubeClient,
  desired: DesiredRequest,
  annotation: string,
  deleting: boolean,
): Promise<Verdict> {
  let observed = await observeRequest(platform, desired);
  const gone = deleting && (await withoutCluster(platform, desired, observed));
  if (gone) return gone;
  for (let step = 0; step < MAX_REQUEST_STEPS; step++) {
    const action = decideRequest(desired, observed, annotation);
    switch (action.do) {
      case 'conclude':
        return action.verdict;
      case 'create-cluster-request':
        observed = { ...observed, clusterRequest: await createOrGet(platform, CLUSTER_REQUESTS, action.object) };
        break;
      case 'create-access-request':
        observed = { ...observed, accessRequest: await createOrGet(platform, ACCESS_REQUESTS, action.object) };
        break;
      case 'patch-cluster-request':
        observed = {
          ...observed,
          clusterRequest: await platform.mergePatch(CLUSTER_REQUESTS, desired.name, action.patch, desired),
        };
        break;
      case 'patch-access-request':
        observed = {
          ...observed,
          accessRequest: await platform.mergePatch(ACCESS_REQUESTS, desired.name, action.patch, desired),
        };
        break;
      case 'remove-access-request':
        if (!(await removeOne(platform, ACCESS_REQUESTS, desired, annotation)))
          return awaitDeletion(ACCESS_REQUESTS, desired);
        observed = await observeRequest(platform, desired);
        break;
      case 'release-access-request':
      case 'release-cluster-request': {
        const type = action.do === 'release-access-request' ? ACCESS_REQUESTS : CLUSTER_REQUESTS;
        // One that we had a hand in is removed by us only after Uninstalled: it was somebody, in the middle of a deletion.
        if (deleting && neverOurs(action.object)) return terminating(action.object);
        if (!(await end(platform, type, action.object, annotation))) return awaitDeletion(type, desired);
        observed = await observeRequest(platform, desired);
        break;
      }
    }
  }
  return {
    state: 'waiting',
    reason: REASON.requestKeepsChanging,
    message: `${desired.namespace}/${desired.name} keeps changing`,
    retryAfterMs: 5_000,
  };
}

function terminating({ metadata: { namespace, name } }: KubeObject): Verdict {
  return { state: 'terminating', message: `request ${namespace}/${name} is being removed` };
}

function awaitDeletion(type: ResourceType, { namespace, name }: RequestIdentity): Verdict {
  return {
    state: 'waiting',
    reason: type === ACCESS_REQUESTS ? REASON.waitingForAccessRequestDeletion : REASON.waitingForClusterRequestDeletion,
    message: `${type.kind} ${namespace}/${name} is being removed; if it is still needed, it is ordered again afterwards`,
  };
}

/** Removes our finalizer from a request that is being deleted once it is the last one. True when the request is gone. */
export async function release(platform: KubeClient, type: ResourceType, request: KubeObject): Promise<boolean> {
  const finalizers = request.metadata.finalizers ?? [];
  // Others first: they still need the request to clean up after it.
  if (finalizers.some((finalizer) => finalizer !== REQUEST_FINALIZER)) return false;
  try {
    await platform.mergePatch(
      type,
      request.metadata.name,
      { metadata: { resourceVersion: request.metadata.resourceVersion, finalizers: [] } },
      { namespace: request.metadata.namespace },
    );
  } catch (error) {
    if (!isGone(error, request.metadata.name)) throw error;
  }
  return true;
}

export type Removal = { readonly state: 'gone' } | { readonly state: 'removing'; readonly kind: string };

/**
 * Removes the AccessRequest and then the ClusterRequest that were made for an object; follows `ReconcileDelete` of
 * `clusteraccess/advanced`. Foreign ones are skipped.
 */
export async function removeRequest(
  platform: KubeClient,
  request: RequestIdentity,
  annotation: string,
): Promise<Removal> {
  const types = request.ordersCluster ? [ACCESS_REQUESTS, CLUSTER_REQUESTS] : [ACCESS_REQUESTS];
  for (const type of types) {
    if (!(await removeOne(platform, type, request, annotation))) return { state: 'removing', kind: type.kind };
  }
  return { state: 'gone' };
}

/** True when there is none of ours (any more). */
export async function removeOne(
  platform: KubeClient,
  type: ResourceType,
  identity: Pick<RequestIdentity, 'name' | 'namespace' | 'ownerLabels'>,
  annotation: string,
): Promise<boolean> {
  const { name, namespace } = identity;
  let request = await platform.get(type, name, namespace);
  if (!request || !isOurs(identity, request)) return true;
  if (!request.metadata.deletionTimestamp) {
    await platform.delete(type, name, { namespace, uid: request.metadata.uid });
    request = await platform.get(type, name, namespace);
    if (!request || !isOurs(identity, request)) return true;
  }
  return end(platform, type, request, annotation);
}

/** Lets a request go that is being removed, or sees to it that its end wakes the object. True when it is gone. */
async function end(
  platform: KubeClient,
  type: ResourceType,
  request: KubeObject,
  annotation: string,
): Promise<boolean> {
  return (await release(platform, type, request)) || !(await leadsBack(platform, type, request, annotation));
}

/**
 * A request that another runtime made doesn't lead to its object, and one of an object of before leads to that one: its end
 * would wake nobody.
 * @returns whether the request is still there
 */
async function leadsBack(
  platform: KubeClient,
  type: ResourceType,
  { metadata: { name, namespace, annotations } }: KubeObject,
  annotation: string,
): Promise<boolean> {
  const before = annotations?.[OBJECT_ANNOTATION];
  if (before === annotation) return true;
  try {
    const adopted = before === undefined ? { [ADOPTED_ANNOTATION]: 'true' } : {};
    const patch = { metadata: { annotations: { [OBJECT_ANNOTATION]: annotation, ...adopted } } };
    await platform.mergePatch(type, name, patch, { namespace });
    return true;
  } catch (error) {
    if (!isGone(error, name)) throw error;
    return false;
  }
}
