import { parse, stringify } from 'yaml';
import { messageOf, RuntimeError } from '../errors.ts';
import { currentEntries, isClearText } from './decide-kubeconfig.ts';

/** What it takes to talk to a cluster, all of it data: nothing that runs, nothing that is read from a file. */
export interface ClusterCredentials {
  /** `https://host:port[/path]` */
  readonly server: string;
  /** PEM. */
  readonly ca?: string | undefined;
  readonly tlsServerName?: string | undefined;
  readonly token?: string | undefined;
  /** PEM. */
  readonly clientCertificate?: string | undefined;
  /** PEM. */
  readonly clientKey?: string | undefined;
  /** Only ever true by {@link KubeconfigPolicy.allowInsecure}. */
  readonly insecure?: boolean | undefined;
}

export interface KubeconfigPolicy {
  /** Development only: accept `insecure-skip-tls-verify`. */
  allowInsecure?: boolean;
}

const REFUSED_IN_CLUSTER: Record<string, string> = {
  'certificate-authority': 'embed the certificate as certificate-authority-data',
  'proxy-url': 'remove it',
};
const TEXTS = {
  cluster: ['certificate-authority-data', 'tls-server-name'],
  user: ['token', 'client-certificate-data', 'client-key-data'],
};
const CREDENTIALS = ['token', 'client-certificate-data', 'client-key-data'];
const REFUSED_IN_USER: Record<string, string> = {
  exec: 'use a token or an embedded client certificate',
  'auth-provider': 'use a token or an embedded client certificate',
  tokenFile: 'embed the token',
  'client-certificate': 'embed it as client-certificate-data',
  'client-key': 'embed it as client-key-data',
  username: 'use a token',
  password: 'use a token',
  as: 'remove the impersonation',
  'as-uid': 'remove the impersonation',
  'as-groups': 'remove the impersonation',
  'as-user-extra': 'remove the impersonation',
};

/**
 * Reads a kubeconfig that came from outside (a Secret). Refuses everything that would run code, read local files, send
 * traffic through a proxy, send a credential in clear text or impersonate, and whatever leaves open whose credential goes
 * where.
 * @param where names the Secret in error texts
 * @throws RuntimeError `INVALID_KUBECONFIG` naming the field and the remedy, never a value
 */
export function parseKubeconfig(text: string, where: string, policy: KubeconfigPolicy = {}): ClusterCredentials {
  const fail = (problem: string): never => {
    throw new RuntimeError('INVALID_KUBECONFIG', `kubeconfig in ${where}: ${problem}`);
  };
  let raw: unknown;
  try {
    // The parser's messages and warnings quote the text, which may be a credential.
    raw = parse(text, { logLevel: 'error' });
  } catch {
    return fail('not valid YAML');
  }
  const { cluster, user } = currentEntries(raw, TEXTS, fail);

  for (const [field, remedy] of Object.entries(REFUSED_IN_CLUSTER))
    if (cluster[field] !== undefined) return fail(`cluster.${field} is refused: ${remedy}`);
  for (const [field, remedy] of Object.entries(REFUSED_IN_USER))
    if (user[field] !== undefined) return fail(`user.${field} is refused: ${remedy}`);
  const insecure = cluster['insecure-skip-tls-verify'] === true;
  if (insecure && !policy.allowInsecure)
    return fail('cluster.insecure-skip-tls-verify is refused: give certificate-authority-data');
  if (isClearText(cluster.server) && CREDENTIALS.some((field) => user[field] !== undefined))
    return fail('cluster.server is refused: the credential would be sent in clear text; use https:');

  return {
    server: withoutSlashes(cluster.server),
    ca: pem(cluster['certificate-authority-data']),
    tlsServerName: textOf(cluster['tls-server-name']),
    token: textOf(user['token']),
    clientCertificate: pem(user['client-certificate-data']),
    clientKey: pem(user['client-key-data']),
    ...(insecure ? { insecure } : {}),
  };
}

/** The kubeconfig (YAML) of one cluster with one user; {@link parseKubeconfig} is its inverse. */
export function formatKubeconfig(credentials: ClusterCredentials): string {
  const base64 = (value: string | undefined) =>
    value === undefined ? undefined : Buffer.from(value).toString('base64');
  const defined = (fields: Record<string, unknown>) =>
    Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
  return stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [
      {
        name: 'cluster',
        cluster: defined({
          server: credentials.server,
          'certificate-authority-data': base64(credentials.ca),
          'tls-server-name': credentials.tlsServerName,
          'insecure-skip-tls-verify': credentials.insecure,
        }),
      },
    ],
    users: [
      {
        name: 'user',
        user: defined({
          token: credentials.token,
          'client-certificate-data': base64(credentials.clientCertificate),
          'client-key-data': base64(credentials.clientKey),
        }),
      },
    ],
    contexts: [{ name: 'default', context: { cluster: 'cluster', user: 'user' } }],
    'current-context': 'default',
  });
}

/**
 * Reads the kubeconfig out of a Secret's data.
 * @throws RuntimeError `INVALID_KUBECONFIG` where the key is missing: there is no fallback to any other configuration
 */
export function kubeconfigFromSecret(
  secret: { data?: Record<string, string> },
  where: string,
  key = 'kubeconfig',
): string {
  const encoded = secret.data?.[key];
  if (!encoded) throw new RuntimeError('INVALID_KUBECONFIG', `Secret ${where} holds no key ${key}`);
  try {
    return Buffer.from(encoded, 'base64').toString('utf8');
  } catch (error) {
    throw new RuntimeError('INVALID_KUBECONFIG', `Secret ${where}, key ${key}: ${messageOf(error)}`);
  }
}

/** By hand: a pattern for an end looks at each of many slashes anew. */
function withoutSlashes(address: string): string {
  let end = address.length;
  while (end > 0 && address.charAt(end - 1) === '/') end--;
  return address.slice(0, end);
}

function pem(value: unknown): string | undefined {
  return typeof value === 'string' ? Buffer.from(value, 'base64').toString('utf8') : undefined;
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}
