import { type ObjectKey, tenantOf } from '../../shared/model/object-key.ts';
import { OTHERS_MS, QUICK_MS } from '../tuning.ts';

/** How much the newest counts in what is known of how long a tenant's invocations take. */
const NEWEST = 0.3;
/** Of more than that the ones that were quiet longest are forgotten. */
const MOST_TENANTS = 10_000;

interface Known {
  running: number;
  /** Milliseconds, an average in which older ones fade. */
  typicalMs: number | undefined;
}

/**
 * Pure: how many of one tenant's objects a process works on at once. All, while nobody else has work and they are quick:
 * places come free all the time. Slow ones leave one to others. Nobody's are known to be slow before they were: until then
 * the average over all tenants counts. While others have work, or had a moment ago, it is half of the places: what runs
 * beside a step makes that step slower, too.
 */
export class TenantBound {
  readonly #places: number;
  readonly #tenants = new Map<string, Known>();
  readonly #all: Known = { running: 0, typicalMs: undefined };
  /** The two tenants who were let in last, and when. */
  #last = { name: '', at: -Infinity };
  #before = { name: '', at: -Infinity };

  constructor(places: number) {
    this.#places = places;
  }

  /**
   * @param now in milliseconds, from any clock that runs forward
   * @returns to be called with the time that the invocation took; undefined: not now
   */
  enter(key: ObjectKey, now = performance.now()): ((tookMs: number) => void) | undefined {
    const name = tenantOf(key);
    const tenant = this.#tenants.get(name) ?? { running: 0, typicalMs: undefined };
    if (tenant.running >= this.#limit(name, tenant, now)) return undefined;
    tenant.running += 1;
    this.#all.running += 1;
    if (this.#last.name !== name) this.#before = this.#last;
    this.#last = { name, at: now };
    this.#remember(name, tenant);
    return (tookMs) => {
      for (const each of [tenant, this.#all]) {
        each.running -= 1;
        each.typicalMs = faded(each.typicalMs, tookMs);
      }
    };
  }

  #limit(name: string, tenant: Known, now: number): number {
    const other = this.#last.name === name ? this.#before : this.#last;
    if (this.#all.running > tenant.running || now - other.at < OTHERS_MS) return Math.ceil(this.#places / 2);
    const slow = (tenant.typicalMs ?? this.#all.typicalMs ?? 0) > QUICK_MS;
    return slow ? Math.max(1, this.#places - 1) : this.#places;
  }

  #remember(name: string, tenant: Known): void {
    this.#tenants.delete(name);
    this.#tenants.set(name, tenant);
    if (this.#tenants.size <= MOST_TENANTS) return;
    for (const [each, { running }] of this.#tenants) {
      if (running > 0) continue;
      this.#tenants.delete(each);
      return;
    }
  }
}

function faded(before: number | undefined, newest: number): number {
  return before === undefined ? newest : before * (1 - NEWEST) + newest * NEWEST;
}
