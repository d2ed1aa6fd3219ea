import { type ObjectKey, ONBOARDING_CLUSTER } from '../../shared/model/object-key.ts';
import { mcpNamespace } from '../../shared/names.ts';
import type { Change, Seen } from '../watch/seen.ts';
import { keyOfSeen, type SeenObject } from './seen-objects.ts';

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

function requestOf(object: SeenObject): string {
  const [namespace, name] = object.id.split('/') as [string, string];
  return `${mcpNamespace(name, namespace)}/${name}`;
}
