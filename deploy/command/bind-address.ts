import { ANY_HOST } from '../../functions/host/listen.ts';
import { RuntimeError } from '../../shared/errors.ts';

/**
 * `:8081` (all interfaces, IPv4 and IPv6), `host:port`, or `0` for none.
 * @throws RuntimeError `INVALID_SETTINGS` for anything else: probes that nobody answers would be found out much later
 */
export function parseBindAddress(
  address: string,
  flag = '--health-probe-bind-address',
): { host: string; port: number } | undefined {
  if (address === '0' || address === '') return undefined;
  const match = /^(.*):(\d+)$/.exec(address);
  const port = Number(match?.[2]);
  if (!match || port > 65_535)
    throw new RuntimeError('INVALID_SETTINGS', `${flag} ${address}: expected :8081, host:8081, or 0 for none`);
  const host = (match[1] as string).replace(/^\[|\]$/g, '');
  return { host: host === '' ? ANY_HOST : host, port };
}
