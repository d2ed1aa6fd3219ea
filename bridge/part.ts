import type { Mode } from '../shared/model/object-key.ts';

/** For metrics. */
export interface BridgeStats {
  /** Workspaces that bind the APIExport, over all shards. */
  boundWorkspaces: number;
  /** Objects that we held and that went without a deletion that was seen, since the start. */
  vanishedObjects: number;
  /** Objects that wait to be sent. */
  waiting: number;
  modes: { mode: Mode; leads: boolean; objects: number }[];
  /** A name stands here once; it is up when all watches of that name are. */
  watches: { watch: string; up: boolean }[];
}

/** What the bridge is made of: a list of parts. Each of start, stop, problems and stats is one loop over that list. */
export interface Part {
  start?(): void;
  stop?(): void | Promise<void>;
  /** Why it can't be relied on at the moment; empty when it can. */
  problems?(): readonly string[];
  /** What it alone knows. */
  stats?(): Partial<BridgeStats>;
}

/** Parts that start and stop with a first one, which alone has problems and stats to tell of. */
export function together(first: Part, ...others: readonly Part[]): Part {
  return {
    start: () => [first, ...others].forEach((part) => part.start?.()),
    stop: async () => void (await Promise.all([first, ...others].map(async (part) => part.stop?.()))),
    problems: () => first.problems?.() ?? [],
    stats: () => first.stats?.() ?? {},
  };
}

/** Pure: the stats of several parts as those of one. */
export function sumOfStats(parts: readonly Partial<BridgeStats>[]): BridgeStats {
  const sum = (field: 'boundWorkspaces' | 'vanishedObjects' | 'waiting'): number =>
    parts.reduce((total, part) => total + (part[field] ?? 0), 0);
  const up = new Map<string, boolean>();
  for (const one of parts.flatMap(({ watches = [] }) => watches))
    up.set(one.watch, one.up && (up.get(one.watch) ?? true));
  return {
    boundWorkspaces: sum('boundWorkspaces'),
    vanishedObjects: sum('vanishedObjects'),
    waiting: sum('waiting'),
    modes: parts.flatMap(({ modes = [] }) => modes),
    watches: [...up].map(([watch, isUp]) => ({ watch, up: isUp })),
  };
}
