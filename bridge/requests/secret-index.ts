import type { ObjectKey } from '../../shared/model/object-key.ts';
import type { Change } from '../watch/seen.ts';
import { ownerOf, type SeenRequest } from './seen-requests.ts';

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
