import type { ShareTuning } from '../tuning.ts';

/**
 * Pure: how many of a tenant's changes count as a user's, and so go ahead of background work. What is beyond is not lost
 * and not late while nobody else has work; it only stands behind the others' changes. A bucket a tenant, forgotten once it
 * is full again.
 */
export class FairShare {
  readonly #tuning: ShareTuning;
  readonly #used = new Map<string, { level: number; at: number }>();
  #swept = 0;

  constructor(tuning: ShareTuning) {
    this.#tuning = tuning;
  }

  /** @param now in milliseconds, from any clock that runs forward */
  allows(tenant: string, now: number): boolean {
    this.#forget(now);
    const level = this.#level(tenant, now);
    if (level + 1 > this.#tuning.burst) return false;
    this.#used.set(tenant, { level: level + 1, at: now });
    return true;
  }

  get size(): number {
    return this.#used.size;
  }

  #level(tenant: string, now: number): number {
    const used = this.#used.get(tenant);
    if (!used) return 0;
    return Math.max(0, used.level - (Math.max(0, now - used.at) / 1_000) * this.#tuning.perSecond);
  }

  /** As often as a bucket takes to fill: each is looked at once or twice in its life. */
  #forget(now: number): void {
    const { burst, perSecond } = this.#tuning;
    if (now - this.#swept < (burst / perSecond) * 1_000) return;
    this.#swept = now;
    for (const tenant of this.#used.keys()) if (this.#level(tenant, now) === 0) this.#used.delete(tenant);
  }
}
