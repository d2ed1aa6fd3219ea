import { type Mode, type ObjectKey, ONBOARDING_CLUSTER } from '../../shared/model/object-key.ts';
import { mcpNamespace } from '../../shared/names.ts';
import type { Heard, SkipReason } from './relevance.ts';
import type { Change, Seen } from '../watch/seen.ts';
import { keyOfSeen, type SeenObject } from './seen-objects.ts';
import { ownerOf, type SeenRequest } from '../requests/seen-requests.ts';

/** What is known of the objects when something that they depend on changes. */
export interface KnownObjects {
  runs(mode: Mode): boolean;
  knows(key: ObjectKey): boolean;
  /** The standard mode's object to which this ClusterRequest gives its control plane. */
  ofControlPlane(request: { namespace: string; name: string }): ObjectKey | undefined;
}

/**
 * Step 4b, pure: the object that a request concerns, or why there is none. An object that isn't known is told all the
 * same, since it may have been missed; not so after a start, when everything that exists is looked at anyway, sooner or
 * later than this list: only what was looked at before it may have missed the answer.
 */
export function objectOfRequest(
  request: SeenRequest,
  heard: Heard,
  known: KnownObjects,
): ObjectKey | { readonly because: SkipReason } {
  const key = ownerOf(request) ?? known.ofControlPlane({ namespace: request.group, name: request.id });
  if (!key) return { because: 'NoSuchObject' };
  if (!known.runs(key.mode)) return { because: 'ModeNotRunning' };
  if (heard === 'first-list' && !known.knows(key)) return { because: 'NoSuchObject' };
  return key;
}

/** Pure: those that share a workspace with an object, which is gone. */
export function othersInWorkspace(gone: SeenObject, seen: Seen<SeenObject>): SeenObject[] {
  return [...seen.inGroup(gone.group)].filter((other) => other.id !== gone.id);
}

/**
 * Pure: finds the standard mode's objects by their control planes' ClusterRequests. A control plane has the name and
 * namespace of its objects; its ClusterRequest has its name, in a namespace of its own.
 */
export class ControlPlaneIndex {
  readonly #idByRequest = new Map<string, string>();

  apply(change: Change<SeenObject>): void {
    if (change.kind === 'added') this.#idByRequest.set(requestOf(change.now), change.now.id);
    else if (change.kind === 'gone') this.#idByRequest.delete(requestOf(change.before));
  }

  find(provider: string, request: { namespace: string; name: string }, seen: Seen<SeenObject>): ObjectKey | undefined {
    const id = this.#idByRequest.get(`${request.namespace}/${request.name}`);
    const object = id === undefined ? undefined : seen.find(ONBOARDING_CLUSTER, id);
    return object && keyOfSeen(provider, 'standard', object);
  }
}

/** Pure: finds the object whose access a Secret holds, by the AccessRequest that names it. */
export class SecretIndex {
  readonly #keys = new Map<string, ObjectKey>();

  apply(change: Change<SeenRequest>): void {
    if (change.kind !== 'added') this.#keys.delete(secretOf(change.before));
    if (change.kind === 'gone' || change.now.secret === undefined) return;
    const key = ownerOf(change.now);
    if (key) this.#keys.set(secretOf(change.now), key);
  }

  find(namespace: string, name: string): ObjectKey | undefined {
    return this.#keys.get(`${namespace}/${name}`);
  }
}

function secretOf(request: SeenRequest): string {
  return `${request.group}/${request.secret ?? ''}`;
}

function requestOf(object: SeenObject): string {
  const [namespace, name] = object.id.split('/') as [string, string];
  return `${mcpNamespace(name, namespace)}/${name}`;
}
