/** What every remembered digest has. */
export interface Identified {
  /** Objects of one group are found together: a cluster, or a namespace. */
  readonly group: string;
  /** Unique within its group. */
  readonly id: string;
  readonly uid: string;
}

/** One difference between what was remembered and what is there now. */
export type Change<Digest> =
  | { readonly kind: 'added'; readonly now: Digest }
  | { readonly kind: 'changed'; readonly before: Digest; readonly now: Digest }
  | { readonly kind: 'gone'; readonly before: Digest };

/**
 * Step 3, pure: the memory of what was seen at one address. The cost of an event doesn't depend on how much is
 * remembered; a new list is compared with the memory, which gives the changes that were missed.
 */
export class Seen<Digest extends Identified> {
  #groups = new Map<string, Map<string, Digest>>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** Takes in one watch event; `undefined` for the deletion of something that wasn't known. */
  apply(type: 'ADDED' | 'MODIFIED' | 'DELETED', digest: Digest): Change<Digest> | undefined {
    const before = this.find(digest.group, digest.id);
    if (type === 'DELETED') {
      if (!before || before.uid !== digest.uid) return undefined;
      this.#remove(before);
      return { kind: 'gone', before };
    }
    this.#put(digest);
    return before ? { kind: 'changed', before, now: digest } : { kind: 'added', now: digest };
  }

  /** Takes in a complete list and returns what differs by identity or existence, and each object that stayed. */
  replaceAll(digests: readonly Digest[]): Change<Digest>[] {
    const previous = this.#groups;
    const changes: Change<Digest>[] = [];
    this.#groups = new Map();
    this.#size = 0;
    for (const now of digests) {
      const before = previous.get(now.group)?.get(now.id);
      changes.push(before ? { kind: 'changed', before, now } : { kind: 'added', now });
      this.#put(now);
    }
    for (const group of previous.values())
      for (const before of group.values())
        if (!this.find(before.group, before.id)) changes.push({ kind: 'gone', before });
    return changes;
  }

  find(group: string, id: string): Digest | undefined {
    return this.#groups.get(group)?.get(id);
  }

  inGroup(group: string): Iterable<Digest> {
    return this.#groups.get(group)?.values() ?? [];
  }

  /** Everything; may be walked through slowly while events go on coming in. */
  *all(): Generator<Digest> {
    for (const group of this.#groups.values()) yield* group.values();
  }

  #put(digest: Digest): void {
    let group = this.#groups.get(digest.group);
    if (!group) this.#groups.set(digest.group, (group = new Map()));
    if (!group.has(digest.id)) this.#size += 1;
    group.set(digest.id, digest);
  }

  #remove(digest: Digest): void {
    const group = this.#groups.get(digest.group);
    if (!group?.delete(digest.id)) return;
    this.#size -= 1;
    if (group.size === 0) this.#groups.delete(digest.group);
  }
}
