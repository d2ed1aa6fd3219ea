import { RuntimeError } from '../errors.ts';
import { currentEntries, type Entry, isClearText } from './decide-kubeconfig.ts';

/** A certificate or key: as text, or in a file. */
export type Pem = { readonly pem: string } | { readonly file: string };

/** What a process's own configuration says, with nothing read yet. */
export interface OwnConfig {
  readonly server: string;
  readonly ca?: Pem | undefined;
  readonly cert?: Pem | undefined;
  readonly key?: Pem | undefined;
  readonly servername?: string | undefined;
  readonly rejectUnauthorized?: false | undefined;
  /** The header of that name. */
  readonly authorization?: string | undefined;
  /** Read again and again, in place of `authorization`. */
  readonly tokenFile?: string | undefined;
}

/**
 * Pure: what the kubeconfig of a process's own says, after the rules of client-go. Context, cluster and user are found by
 * their names alone.
 * @param where names the file in error texts
 * @param path a file's path as the kubeconfig means it
 * @returns `plugin` where the user needs one
 * @throws RuntimeError `INVALID_SETTINGS` naming the field and the remedy, never a value; for a credential that would be
 * sent in clear text as well
 */
export function decideOwnConfig(raw: unknown, where: string, path: (file: string) => string): OwnConfig | 'plugin' {
  const fail = (problem: string): never => {
    throw new RuntimeError('INVALID_SETTINGS', `kubeconfig ${where}: ${problem}`);
  };
  const { clusterName, cluster, userName, user } = currentEntries(
    raw,
    { cluster: CLUSTER_TEXTS, user: CREDENTIALS },
    fail,
  );
  if (cluster['proxy-url'] !== undefined)
    return fail(`clusters.${clusterName}.proxy-url: proxies are not supported; remove it`);
  const impersonation = Object.keys(user).find((field) => /^as(-|$)/.test(field));
  if (impersonation) return fail(`users.${userName}.${impersonation}: impersonation is not supported; remove it`);
  const plugin = user['exec'] !== undefined || user['auth-provider'] !== undefined;
  if (isClearText(cluster.server) && (plugin || CREDENTIALS.some((field) => user[field] !== undefined)))
    return fail(`clusters.${clusterName}.cluster.server: users.${userName} would be sent in clear text; use https:`);
  if (plugin) return 'plugin';
  return { ...serverOf(cluster, path), ...identityOf(user, path) };
}

/** Fields of a user that give somebody else power who reads them. */
const CREDENTIALS = [
  'token',
  'tokenFile',
  'username',
  'password',
  'client-certificate',
  'client-certificate-data',
  'client-key',
  'client-key-data',
];
const CLUSTER_TEXTS = ['certificate-authority', 'certificate-authority-data', 'tls-server-name'];

function pemOf(entry: Entry, field: string, path: (file: string) => string): Pem | undefined {
  // An empty one is none, as in Go.
  const { [`${field}-data`]: data = '', [field]: file = '' } = entry as Record<string, string | undefined>;
  if (data !== '') return { pem: Buffer.from(data, 'base64').toString('utf8') };
  return file === '' ? undefined : { file: path(file) };
}

function serverOf(cluster: Entry, path: (file: string) => string): OwnConfig {
  return {
    server: String(cluster['server']),
    ca: pemOf(cluster, 'certificate-authority', path),
    servername: cluster['tls-server-name'] as string | undefined,
    rejectUnauthorized: cluster['insecure-skip-tls-verify'] === true ? false : undefined,
  };
}

function identityOf(user: Entry, path: (file: string) => string): Partial<OwnConfig> {
  const { token = '', tokenFile = '', username = '', password = '' } = user as Record<string, string | undefined>;
  const basic = username === '' ? undefined : `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;
  return {
    cert: pemOf(user, 'client-certificate', path),
    key: pemOf(user, 'client-key', path),
    // As client-go: a file goes before a token beside it, since it may be replaced.
    ...(tokenFile === '' ? {} : { tokenFile: path(tokenFile) }),
    authorization: token === '' ? basic : `Bearer ${token}`,
  };
}
