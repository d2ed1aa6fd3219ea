import { formatObjectKey } from '../../shared/model/object-key.ts';
import type { Notice } from './to-events.ts';

/**
 * Pure: which objects are still to be told of, at most once each, so that it never grows beyond their number however
 * long the queue is away. Users' changes go first, in the order in which they came; then background notices; then sweeps
 * over all objects, which are read only as fast as they are sent.
 */
export class Outbox {
  readonly #user = new Line();
  readonly #background = new Line();
  readonly #sweeps = new Map<string, Iterator<Notice>>();

  /** Notices that wait; sweeps aren't counted. */
  get size(): number {
    return this.#user.size + this.#background.size;
  }

  get empty(): boolean {
    return this.size === 0 && this.#sweeps.size === 0;
  }

  /** A newer notice replaces an older one of the same object, which keeps its place and a user's priority. */
  add(notice: Notice): void {
    const id = formatObjectKey(notice.key);
    if (notice.priority === 'user') {
      this.#background.delete(id);
      this.#user.set(id, notice);
    } else if (!this.#user.has(id)) {
      this.#background.set(id, notice);
    }
  }

  /** For one that could not be sent: it gives way to what came for the object meanwhile, except in priority. */
  putBack(notice: Notice): void {
    const id = formatObjectKey(notice.key);
    if (this.#user.has(id)) return;
    const newer = this.#background.get(id);
    if (notice.priority === 'background') {
      if (!newer) this.#background.set(id, notice);
      return;
    }
    this.#background.delete(id);
    this.#user.set(id, newer ? { ...newer, priority: 'user' } : notice);
  }

  /** Starts a sweep. One of the same name that isn't through yet starts anew, or goes on as it is with `keep`. */
  sweep(name: string, notices: Iterable<Notice>, running: 'restart' | 'keep'): void {
    if (running === 'keep' && this.#sweeps.has(name)) return;
    this.#sweeps.set(name, notices[Symbol.iterator]());
  }

  /** The next to send. */
  take(): Notice | undefined {
    return this.#user.take() ?? this.#background.take() ?? this.#takeFromSweeps();
  }

  #takeFromSweeps(): Notice | undefined {
    for (const [name, notices] of this.#sweeps) {
      const next = notices.next();
      if (!next.done) return next.value;
      this.#sweeps.delete(name);
    }
    return undefined;
  }
}

/** A map that is emptied from its front. Looking for the front anew each time would cost more the longer it is. */
class Line extends Map<string, Notice> {
  #front = this.entries();

  take(): Notice | undefined {
    if (this.size === 0) return undefined;
    let next = this.#front.next();
    if (next.done) {
      this.#front = this.entries();
      next = this.#front.next();
    }
    if (next.done) return undefined;
    const [id, notice] = next.value;
    this.delete(id);
    return notice;
  }
}
