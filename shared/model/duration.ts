import { RuntimeError } from '../errors.ts';

/** Milliseconds, or a Go duration such as `90s`, `1h30m` or `500ms`. */
export type Duration = number | string;

const UNITS: Readonly<Record<string, number>> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3,
  μs: 1e-3,
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
};
const TERM = /(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h)/y;

/** Milliseconds of a Go duration string (`time.ParseDuration`); `undefined` when it is none. */
export function parseGoDuration(text: string): number | undefined {
  const sign = text.startsWith('-') ? -1 : 1;
  const body = text.replace(/^[-+]/, '');
  if (body === '0') return 0;
  let total = 0;
  TERM.lastIndex = 0;
  while (TERM.lastIndex < body.length) {
    const match = TERM.exec(body);
    if (!match) return undefined;
    total += Number(match[1]) * (UNITS[match[2] as string] as number);
  }
  return body === '' ? undefined : sign * total;
}

/**
 * What a provider's function returned as `requeueAfter`, in milliseconds. Undefined: it is done, for which nought stands as
 * well, as in Go.
 * @throws RuntimeError `INVALID_PROVIDER` where that is no duration
 */
export function requeueMs(result: { readonly requeueAfter: Duration } | void): number | undefined {
  // Also where somebody returns an object without it.
  if (result?.requeueAfter === undefined) return undefined;
  return milliseconds(result.requeueAfter, 'requeueAfter') || undefined;
}

/** @throws RuntimeError `INVALID_PROVIDER` where a provider returned something else than a duration */
export function milliseconds(duration: Duration, field: string): number {
  const value = typeof duration === 'number' ? duration : parseGoDuration(duration);
  if (value === undefined || !Number.isFinite(value) || value < 0)
    throw new RuntimeError('INVALID_PROVIDER', `${field}: expected milliseconds or a duration such as "10s"`);
  return value;
}
