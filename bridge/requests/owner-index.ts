import { formatObjectKey, type ObjectKey } from '../../shared/model/object-key.ts';
import type { Change } from '../watch/seen.ts';
import { ownerOf, type SeenRequest } from './seen-requests.ts';

/** Pure: the objects that have requests on the platform cluster. One index for each kind of request. */
export class OwnerIndex {
  readonly #requests = new Map<string, number>();

  apply(change: Change<SeenRequest>): void {
    if (change.kind !== 'added') this.#count(change.before.owner, -1);
    if (change.kind !== 'gone') this.#count(change.now.owner, 1);
  }

  has(key: ObjectKey): boolean {
    return this.#requests.has(formatObjectKey(key));
  }

  *owners(): Generator<ObjectKey> {
    for (const owner of this.#requests.keys()) {
      const key = ownerOf({ owner });
      if (key) yield key;
    }
  }

  #count(owner: string | undefined, by: number): void {
    if (owner === undefined) return;
    const now = (this.#requests.get(owner) ?? 0) + by;
    if (now > 0) this.#requests.set(owner, now);
    else this.#requests.delete(owner);
  }
}
