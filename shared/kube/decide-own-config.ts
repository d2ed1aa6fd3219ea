import { z } from 'zod';
import { RuntimeError } from '../errors.ts';

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

const entries = <Shape extends z.ZodRawShape>(field: string, shape: Shape) =>
  z
    .array(z.looseObject({ name: z.string(), [field]: z.looseObject(shape) }))
    .nullish()
    .transform((list) => list ?? []);
const text = z.string().min(1).optional();

const KUBECONFIG = z.looseObject({
  'current-context': z.string({ error: 'missing; name the context to use' }).min(1, 'empty; name the context to use'),
  contexts: entries('context', { cluster: z.string(), user: z.string() }),
  clusters: entries('cluster', {
    server: z.url({ protocol: /^https?$/ }),
    'certificate-authority': text,
    'certificate-authority-data': text,
    'insecure-skip-tls-verify': z.boolean().optional(),
    'tls-server-name': text,
  }),
  users: entries('user', {
    token: text,
    tokenFile: text,
    'client-certificate': text,
    'client-certificate-data': text,
    'client-key': text,
    'client-key-data': text,
    username: text,
    password: text,
  }),
});
type Parsed = z.output<typeof KUBECONFIG>;

/**
 * Pure: what the kubeconfig of a process's own says, after the rules of client-go. Context, cluster and user are found by
 * their names alone.
 * @param where names the file in error texts
 * @param path a file's path as the kubeconfig means it
 * @returns `plugin` where the user needs one
 * @throws RuntimeError `INVALID_SETTINGS` naming the field and the remedy, never a value
 */
export function decideOwnConfig(raw: unknown, where: string, path: (file: string) => string): OwnConfig | 'plugin' {
  const fail = (problem: string): never => {
    throw new RuntimeError('INVALID_SETTINGS', `kubeconfig ${where}: ${problem}`);
  };
  const parsed = KUBECONFIG.safeParse(raw);
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    return fail(`${issue?.path.join('.') || 'document'}: ${issue?.message ?? 'invalid'}`);
  }
  const config = parsed.data;
  const current = config['current-context'];
  const context = found(config.contexts, 'context', current) ?? fail(`current-context: there is no context ${current}`);
  const { cluster: clusterName, user: userName } = context as { cluster: string; user: string };
  const cluster =
    found(config.clusters, 'cluster', clusterName) ?? fail(`contexts.${current}.cluster: there is no ${clusterName}`);
  const user = found(config.users, 'user', userName) ?? fail(`contexts.${current}.user: there is no ${userName}`);
  if (cluster['proxy-url'] !== undefined)
    return fail(`clusters.${clusterName}.proxy-url: proxies are not supported; remove it`);
  const impersonation = Object.keys(user).find((field) => /^as(-|$)/.test(field));
  if (impersonation) return fail(`users.${userName}.${impersonation}: impersonation is not supported; remove it`);
  if (user['exec'] !== undefined || user['auth-provider'] !== undefined) return 'plugin';
  return { ...serverOf(cluster, path), ...identityOf(user, path) };
}

type Entry = Readonly<Record<string, unknown>>;

function found(list: Parsed['contexts' | 'clusters' | 'users'], field: string, name: string): Entry | undefined {
  return list.find((entry) => entry.name === name)?.[field] as Entry | undefined;
}

function pemOf(entry: Entry, field: string, path: (file: string) => string): Pem | undefined {
  const { [`${field}-data`]: data, [field]: file } = entry as Record<string, string | undefined>;
  if (data !== undefined) return { pem: Buffer.from(data, 'base64').toString('utf8') };
  return file === undefined ? undefined : { file: path(file) };
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
  const { token, tokenFile, username, password = '' } = user as Record<string, string | undefined>;
  const basic =
    username === undefined ? undefined : `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;
  return {
    cert: pemOf(user, 'client-certificate', path),
    key: pemOf(user, 'client-key', path),
    // As client-go: a file goes before a token beside it, since it may be replaced.
    ...(tokenFile === undefined ? {} : { tokenFile: path(tokenFile) }),
    authorization: token === undefined ? basic : `Bearer ${token}`,
  };
}
