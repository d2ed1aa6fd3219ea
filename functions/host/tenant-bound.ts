import { type ObjectKey, tenantOf } from '../../shared/model/object-key.ts';
import { QUICK_MS } from '../tuning.ts';

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
 * Pure: how many of one tenant's objects a process works on at once. Quick ones may take every place, since places come
 * free all the time; slow ones leave one to others. Nobody's are known to be slow before they were: until then the
 * average over all tenants counts.
 */
export class TenantBound {
  readonly #places: number;
  readonly #tenants = new Map<string, Known>();
  readonly #all: Known = { running: 0, typicalMs: undefined };

  constructor(places: number) {
    this.#places = places;
  }

  /** @returns to be called with the time that the invocation took; undefined: not now */
  enter(key: ObjectKey): ((tookMs: number) => void) | undefined {
    const name = tenantOf(key);
    const tenant = this.#tenants.get(name) ?? { running: 0, typicalMs: undefined };
    const slow = (tenant.typicalMs ?? this.#all.typicalMs ?? 0) > QUICK_MS;
    if (slow && tenant.running >= Math.max(1, this.#places - 1)) return undefined;
    tenant.running += 1;
    this.#remember(name, tenant);
    return (tookMs) => {
      tenant.running -= 1;
      for (const each of [tenant, this.#all]) each.typicalMs = faded(each.typicalMs, tookMs);
    };
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
