import { isInternalHost } from '../../shared/conceal.ts';
import { RuntimeError } from '../../shared/errors.ts';

/**
 * Refuses an address to which a bearer token would go in clear text through networks of others. Inside of a cluster
 * (`http://install.foo.svc`) that is for its operator to decide.
 * @param setting the flag, for the error
 * @throws RuntimeError `INVALID_SETTINGS`
 */
export function refuseClearText(address: string, setting: string): void {
  const { protocol, hostname } = new URL(address);
  if (protocol === 'https:' || isInternalHost(hostname) || !/[.:]/.test(hostname)) return;
  throw new RuntimeError(
    'INVALID_SETTINGS',
    `${setting} ${address}: the token of --token-file would be sent in clear text; use https:`,
  );
}
