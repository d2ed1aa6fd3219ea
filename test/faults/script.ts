/** What a run does, one step after the other, as tenants, operators and misfortune do. */
export type Step =
  /** Creates the object, or a new one of the same name as soon as the one of before is gone. */
  | { readonly do: 'create' | 'remove'; readonly name: string }
  | { readonly do: 'change'; readonly name: string; readonly value: string }
  /** A field of the ProviderConfig that concerns every object. */
  | { readonly do: 'config'; readonly interval: string }
  /** SIGKILL, and a new one in its place. */
  | { readonly do: 'kill'; readonly process: ProcessName }
  /** Hangs for so long, with its connections open; a process longer than its leases last. */
  | { readonly do: 'freeze'; readonly process: ProcessName | 'redis'; readonly ms: number }
  /** Redis loses everything while it runs, or ends and comes back empty. */
  | { readonly do: 'wipe' | 'lose-redis' }
  | { readonly do: 'pause'; readonly ms: number };

export const PROCESSES = [
  'bridge',
  'resolve-credentials',
  'provider-install',
  'provider-delete',
  'access-teardown',
] as const;
export type ProcessName = (typeof PROCESSES)[number];

export interface ScriptOptions {
  readonly seed: number;
  readonly steps: number;
  readonly objects: number;
  /** Of all steps, from 0 to 1. */
  readonly faults: number;
}

/** Numbers from 0 to 1 that are the same for a seed wherever it runs (mulberry32). */
export function random(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** Pure: the script of a seed. What a step can't do when its time comes, such as a change of nothing, it leaves. */
export function scriptOf({ seed, steps, objects, faults }: ScriptOptions): Step[] {
  const next = random(seed);
  const pick = <T>(from: readonly T[]): T => from[Math.floor(next() * from.length)] as T;
  const names = Array.from({ length: objects }, (_, index) => `o${index}`);
  const fault = (): Step => {
    const roll = next();
    if (roll < 0.6) return { do: 'kill', process: pick(PROCESSES) };
    if (roll < 0.7) return { do: 'freeze', process: pick(PROCESSES), ms: 4_000 + Math.floor(next() * 2_000) };
    if (roll < 0.75) return { do: 'freeze', process: 'redis', ms: 500 + Math.floor(next() * 5_000) };
    return { do: roll < 0.9 ? 'wipe' : 'lose-redis' };
  };
  const action = (index: number): Step => {
    const roll = next();
    const name = pick(names);
    if (roll < 0.3) return { do: 'create', name };
    if (roll < 0.7) return { do: 'change', name, value: `v${index}` };
    if (roll < 0.85) return { do: 'remove', name };
    if (roll < 0.87) return { do: 'config', interval: `${60 + Math.floor(next() * 60)}s` };
    return { do: 'pause', ms: Math.floor(next() * 400) };
  };
  return Array.from({ length: steps }, (_, index) => (next() < faults ? fault() : action(index)));
}

/**
 * The smallest script that still shows what the whole one shows, as far as leaving out parts finds it (delta debugging, as
 * `ddmin`).
 * @param broken runs a script; true when a promise was broken
 * @param attempts how often at most
 */
export async function shrink(
  script: readonly Step[],
  broken: (script: readonly Step[]) => Promise<boolean>,
  attempts: number,
): Promise<readonly Step[]> {
  let best = script;
  let left = attempts;
  for (let parts = 2; best.length > 1 && left > 0;) {
    const size = Math.ceil(best.length / parts);
    let smaller: readonly Step[] | undefined;
    for (let from = 0; from < best.length && left > 0 && !smaller; from += size) {
      const without = [...best.slice(0, from), ...best.slice(from + size)];
      left--;
      if (await broken(without)) smaller = without;
    }
    if (smaller) {
      best = smaller;
      parts = Math.max(2, parts - 1);
    } else if (size === 1) break;
    else parts = Math.min(best.length, parts * 2);
  }
  return best;
}
