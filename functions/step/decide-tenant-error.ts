import type { Internal } from '../../shared/conceal.ts';
import { messageOf, PermanentError } from '../../shared/errors.ts';
import { ApiError } from '../../shared/kube/api-error.ts';
import { tenantText, type TenantView, withReference } from './decide-tenant-view.ts';

/**
 * Pure: an error in the words that a tenant reads: a short cause that tells whom to ask. The error's own text is for the
 * operator's log, where the reference at the end of it leads to; without one, nothing was taken out.
 */
export function tenantError(error: unknown, view: TenantView): { text: string; reference?: string } {
  if (error instanceof PermanentError) return tenantText(messageOf(error), view, 'author');
  if (!(error instanceof ApiError) || error.server === undefined) return tenantText(messageOf(error), view, 'anyone');
  const server = nameOf(error.server, view.internal);
  const cause = causeOf(error, server);
  if (cause !== undefined) return withReference(cause, view);
  return tenantText(`${server} answers ${error.status}: ${error.answer}`, view, 'anyone');
}

function causeOf(error: ApiError, server: string): string | undefined {
  switch (error.status) {
    case 0:
      return `${server}'s API server ${silence(error)}`;
    case 401:
      return `${server} does not accept the credentials`;
    case 403: {
      const [, verb, resource] = DENIED.exec(error.answer) ?? [];
      return verb === undefined ? undefined : `access to ${server} was denied: cannot ${verb} ${resource}`;
    }
    default:
      return undefined;
  }
}

/** As API servers word it, those of kcp too. */
const DENIED = /\bcannot ([a-z]{2,20}) (?:resource|path) "([\w./-]{1,253})"/;

function silence({ cause, answer }: ApiError): string {
  const { code = '', name = '' } = (cause ?? {}) as { code?: string; name?: string };
  if (/CERT|SELF_SIGNED|VERIFY|^ERR_TLS/.test(code)) return 'has a certificate that is not trusted';
  if (/TIMEOUT/.test(code) || /Timeout|Abort/.test(name) || /timeout/i.test(answer)) return 'did not answer in time';
  return "can't be reached";
}

/** What is at an address, to people: the longest known one that it begins with. */
function nameOf(address: string, { servers }: Internal): string {
  const [best] = [...servers.keys()]
    .filter((known) => address === known || address.startsWith(`${known}/`))
    .toSorted((a, b) => b.length - a.length);
  return (best === undefined ? undefined : servers.get(best)) ?? 'a cluster';
}
