import { LONGEST_PAUSE_MS, SHORTEST_PAUSE_MS } from '../tuning.ts';

/**
 * Pure: for how long a server that refused a request wants to be left alone with it.
 * @param header `Retry-After`: seconds, or a date
 * @param detailSeconds `details.retryAfterSeconds` of the Status; the longer one counts
 * @param now milliseconds since the epoch
 * @returns undefined where it says nothing of that; never longer than {@link LONGEST_PAUSE_MS}, since a tenant's webhook may
 * be who says it
 */
export function askedPauseMs(
  status: number,
  header: string | string[] | undefined,
  detailSeconds: unknown,
  now: number,
): number | undefined {
  if (status !== 429 && status < 500) return undefined;
  const said = [secondsOf(detailSeconds), headerMs([header].flat()[0], now)].filter((ms) => ms !== undefined);
  return said.length === 0 ? undefined : Math.min(LONGEST_PAUSE_MS, Math.max(SHORTEST_PAUSE_MS, ...said));
}

function secondsOf(value: unknown): number | undefined {
  return typeof value === 'number' && value > 0 ? value * 1_000 : undefined;
}

function headerMs(header: string | undefined, now: number): number | undefined {
  if (header === undefined || header.trim() === '') return undefined;
  if (/^\s*\d+\s*$/.test(header)) return Number(header) * 1_000;
  const date = Date.parse(header);
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}
