import { RuntimeError } from '../errors.ts';

export interface RedisAddress {
  host: string;
  port: number;
}

/** How Redis is reached: exactly one of `url`, `sentinel` and `cluster`. */
export interface RedisSettings {
  /** `redis[s]://[user[:password]@]host:port[/db]` */
  url?: string | undefined;
  /** The master is asked for at these, again after each fail-over. */
  sentinel?: { nodes: readonly RedisAddress[]; master: string; password?: string | undefined } | undefined;
  /** Nodes of a Redis Cluster, of which one has to answer. */
  cluster?: readonly RedisAddress[] | undefined;
  /** Encrypted; an address with `rediss:` is in any case. */
  tls?: boolean | undefined;
  username?: string | undefined;
  password?: string | undefined;
  /** PEM, for a server certificate of a private authority. */
  ca?: string | undefined;
  /** PEM, where the server demands a certificate of its clients; with its key. */
  cert?: string | undefined;
  key?: string | undefined;
}

/** What all ways to a server have in common. */
export interface RedisServer {
  /** Unset for a Sentinel or a Cluster, which know. */
  address: (RedisAddress & { db: number }) | undefined;
  username: string | undefined;
  password: string | undefined;
  /** Undefined where nothing is encrypted. */
  tls: { ca?: string; cert?: string; key?: string } | undefined;
}

/** @throws RuntimeError `INVALID_SETTINGS` for an address that is none, or certificates that would not be used */
export function redisServer(settings: RedisSettings): RedisServer {
  const url = settings.url === undefined ? undefined : parseUrl(settings.url);
  const encrypted = settings.tls === true || url?.protocol === 'rediss:';
  const files = { REDIS_CA_FILE: settings.ca, REDIS_CERT_FILE: settings.cert, REDIS_KEY_FILE: settings.key };
  const unused = Object.entries(files).find(([, pem]) => pem !== undefined);
  if (!encrypted && unused)
    throw invalid(`${unused[0]}: the connection is not encrypted; use rediss:// in REDIS_URL, or set REDIS_TLS=true`);
  const { ca, cert, key } = settings;
  const username = settings.username ?? decodeURIComponent(url?.username ?? '');
  const password = settings.password ?? decodeURIComponent(url?.password ?? '');
  return {
    address: url && {
      host: url.hostname.replace(/^\[|\]$/g, ''),
      port: Number(url.port || 6379),
      db: Number(url.pathname.slice(1) || 0),
    },
    username: username === '' ? undefined : username,
    password: password === '' ? undefined : password,
    tls: encrypted ? { ...(ca ? { ca } : {}), ...(cert && key ? { cert, key } : {}) } : undefined,
  };
}

/**
 * What is dangerous about a server that anyone can write to who reaches it, or whose password anyone can read on the way;
 * on this machine it is for tests.
 */
export function opennessProblem(settings: RedisSettings): string | undefined {
  const { address, password, tls } = redisServer(settings);
  const hosts = [address, ...(settings.sentinel?.nodes ?? []), ...(settings.cluster ?? [])];
  if (hosts.every((each) => each === undefined || isLocal(each.host))) return undefined;
  if (password !== undefined && tls === undefined)
    return "Redis' password is sent in clear text: use rediss://, or set REDIS_TLS=true";
  if (password !== undefined || settings.cert !== undefined) return undefined;
  return (
    'Redis is used without a password: whoever reaches it can make this provider work on any object. ' +
    'Give it a user of its own, and set REDIS_USERNAME and REDIS_PASSWORD_FILE'
  );
}

function isLocal(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127(\.\d+){3}$/.test(host);
}

function parseUrl(text: string): URL {
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    throw invalid('REDIS_URL: not an address; expected redis://host:6379 or rediss://…');
  }
  if (url.protocol !== 'redis:' && url.protocol !== 'rediss:')
    throw invalid(`REDIS_URL: ${url.protocol} is not supported; use redis: or rediss:`);
  return url;
}

function invalid(message: string): RuntimeError {
  return new RuntimeError('INVALID_SETTINGS', message);
}
