import type { Reason } from '../../shared/events/catalogue.ts';
import type { Mode, ObjectKey } from '../../shared/model/object-key.ts';
import type { BridgeStats, Part } from '../part.ts';
import type { Notice } from '../send/to-events.ts';
import type { ObjectWatch } from './object-watch.ts';

/** What is known of the objects when something that they depend on changes. */
export interface KnownObjects {
  /** False while there is nothing to follow, e.g. without kcp settings. */
  runs(mode: Mode): boolean;
  knows(key: ObjectKey): boolean;
  /** The object that has the name now, be it another incarnation than that of the key. */
  now(key: ObjectKey): ObjectKey | undefined;
  /** Whether all objects of a mode were listed once, so that one that is not known is not there. */
  listed(mode: Mode): boolean;
  /** The standard mode's object to which this ClusterRequest gives its control plane. */
  ofControlPlane(request: { namespace: string; name: string }): ObjectKey | undefined;
}

/** The objects of both modes at all addresses that are followed at the moment. */
export class FollowedObjects implements KnownObjects, Part {
  /** Modes that run. */
  readonly modes = new Set<Mode>();
  /** Objects that we held and that went without a deletion that was seen. */
  vanished = 0;
  readonly #watches = new Set<ObjectWatch>();
  /** Whether something of an object that is gone may be left on the platform cluster. */
  readonly mayLeave: (key: ObjectKey) => boolean;

  constructor(mayLeave: (key: ObjectKey) => boolean) {
    this.mayLeave = mayLeave;
  }

  add(watch: ObjectWatch): void {
    this.#watches.add(watch);
  }

  remove(watch: ObjectWatch): void {
    this.#watches.delete(watch);
  }

  runs(mode: Mode): boolean {
    return this.modes.has(mode);
  }

  knows(key: ObjectKey): boolean {
    return this.now(key)?.uid === key.uid;
  }

  now(key: ObjectKey): ObjectKey | undefined {
    const id = `${key.namespace}/${key.name}`;
    for (const watch of this.#of(key.mode)) {
      const found = watch.seen.find(key.cluster, id);
      if (found) return watch.keyOf(found);
    }
    return undefined;
  }

  listed(mode: Mode): boolean {
    const watches = this.#of(mode);
    return watches.length > 0 && watches.every(({ listed }) => listed);
  }

  ofControlPlane(request: { namespace: string; name: string }): ObjectKey | undefined {
    for (const watch of this.#watches) {
      const key = watch.ofControlPlane(request);
      if (key) return key;
    }
    return undefined;
  }

  count(mode: Mode): number {
    return this.#of(mode).reduce((sum, { seen }) => sum + seen.size, 0);
  }

  /** That every object has to be looked at, behind what users do meanwhile; may be walked through slowly. */
  *everything(reason: Reason): Generator<Notice> {
    for (const watch of this.#watches)
      for (const seen of watch.seen.all())
        yield { key: watch.keyOf(seen), generation: seen.generation, reason, priority: 'background' };
  }

  stats(): Partial<BridgeStats> {
    return { vanishedObjects: this.vanished };
  }

  #of(mode: Mode): ObjectWatch[] {
    return [...this.#watches].filter((watch) => watch.mode === mode);
  }
}
