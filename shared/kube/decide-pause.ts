import { LONGEST_PAUSE_MS, SHORTEST_PAUSE_MS } from '../tuning.ts';

/**
 * Pure: for how long a server that refused a request wants to be left alone with it.
 * @param headers `Retry-After`: seconds, or a date, which counts by the answer's own `Date`
 * @param detailSeconds `details.retryAfterSeconds` of the Status; the longer one counts
 * @returns undefined where it says nothing of that; never longer than {@link LONGEST_PAUSE_MS}, since a tenant's webhook may
 * be who says it
 */
export function askedPauseMs(
  status: number,
  headers: Readonly<Record<string, string | string[] | undefined>>,
  detailSeconds: unknown,
): number | undefined {
  if (status !== 429 && status < 500) return undefined;
  const said = [secondsOf(detailSeconds), headerMs(headers)].filter((ms) => ms !== undefined);
  return said.length === 0 ? undefined : Math.min(LONGEST_PAUSE_MS, Math.max(SHORTEST_PAUSE_MS, ...said));
}

function secondsOf(value: unknown): number | undefined {
  return typeof value === 'number' && value > 0 ? value * 1_000 : undefined;
}

function headerMs(headers: Readonly<Record<string, string | string[] | undefined>>): number | undefined {
  const [asked, date] = ['retry-after', 'date'].map((name) => [headers[name]].flat()[0]?.trim());
  if (!asked) return undefined;
  if (/^\d+$/.test(asked)) return Number(asked) * 1_000;
  const ms = Date.parse(asked) - Date.parse(date ?? '');
  return Number.isNaN(ms) ? undefined : Math.max(0, ms);
}
