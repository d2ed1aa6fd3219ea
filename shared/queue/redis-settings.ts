import { RuntimeError } from '../errors.ts';

export interface RedisAddress {
  host: string;
  port: number;
}

/** A text, or how to read it: that is done for each connection, since it may be replaced while the process runs. */
export type Renewable = string | (() => string);

/** How Redis is reached: exactly one of `url`, `sentinel` and `cluster`. */
export interface RedisSettings {
  /** `redis[s]://[user[:password]@]host:port[/db]`; of one that is renewed, user and password are. */
  url?: Renewable | undefined;
  /** The master is asked for at these, again after each fail-over. */
  sentinel?: { nodes: readonly RedisAddress[]; master: string; password?: Renewable | undefined } | undefined;
  /** Nodes of a Redis Cluster, of which one has to answer. */
  cluster?: readonly RedisAddress[] | undefined;
  /** Encrypted; an address with `rediss:` is in any case. */
  tls?: boolean | undefined;
  username?: string | undefined;
  password?: Renewable | undefined;
  /** PEM, for a server certificate of a private authority. */
  ca?: Renewable | undefined;
  /** PEM, where the server demands a certificate of its clients; with its key. */
  cert?: Renewable | undefined;
  key?: Renewable | undefined;
}

/** What all ways to a server have in common. */
export interface RedisServer {
  /** Unset for a Sentinel or a Cluster, which know. */
  address: (RedisAddress & { db: number }) | undefined;
  username: Renewable | undefined;
  password: Renewable | undefined;
  /** Undefined where nothing is encrypted. Its properties are what they are at the moment. */
  tls: { readonly ca?: string; readonly cert?: string; readonly key?: string } | undefined;
}

/**
 * @param urlSetting what gave the address, for the error
 * @throws RuntimeError `INVALID_SETTINGS` for an address that is none, or certificates that would not be used
 */
export function redisServer(settings: RedisSettings, urlSetting = 'REDIS_URL'): RedisServer {
  const { url: given } = settings;
  const url = given === undefined ? undefined : parseUrl(textOf(given), urlSetting);
  const encrypted = settings.tls === true || url?.protocol === 'rediss:';
  const files = { REDIS_CA_FILE: settings.ca, REDIS_CERT_FILE: settings.cert, REDIS_KEY_FILE: settings.key };
  const unused = Object.entries(files).find(([, pem]) => pem !== undefined);
  if (!encrypted && unused)
    throw invalid(`${unused[0]}: the connection is not encrypted; use rediss:// in REDIS_URL, or set REDIS_TLS=true`);
  return {
    address: url && {
      host: url.hostname.replace(/^\[|\]$/g, ''),
      port: Number(url.port || 6379),
      db: Number(url.pathname.slice(1) || 0),
    },
    username: settings.username ?? ofUrl('username', given),
    password: settings.password ?? ofUrl('password', given),
    tls: encrypted ? tlsOf(settings) : undefined,
  };
}

/** What a text is at the moment. */
export function textOf(text: Renewable): string {
  return typeof text === 'string' ? text : text();
}

function ofUrl(part: 'username' | 'password', url: Renewable | undefined): Renewable | undefined {
  if (url === undefined) return undefined;
  let last = decodeURIComponent(parseUrl(textOf(url))[part]);
  if (last === '') return undefined;
  if (typeof url === 'string') return last;
  return () => {
    const now = textOf(url);
    if (URL.canParse(now)) last = decodeURIComponent(new URL(now)[part]) || last;
    return last;
  };
}

/** Node reads these when it begins a connection. */
function tlsOf(settings: RedisSettings): NonNullable<RedisServer['tls']> {
  const tls = {};
  for (const name of ['ca', 'cert', 'key'] as const) {
    const text = settings[name];
    if (text !== undefined) Object.defineProperty(tls, name, { enumerable: true, get: () => textOf(text) });
  }
  return tls;
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

function parseUrl(text: string, setting = 'REDIS_URL'): URL {
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    throw invalid(`${setting}: not an address; expected redis://host:6379 or rediss://…`);
  }
  if (url.protocol !== 'redis:' && url.protocol !== 'rediss:')
    throw invalid(`${setting}: ${url.protocol} is not supported; use redis: or rediss:`);
  try {
    decodeURIComponent(url.username + url.password);
  } catch {
    throw invalid(`${setting}: user or password is not percent-encoded; write % as %25`);
  }
  return url;
}

function invalid(message: string): RuntimeError {
  return new RuntimeError('INVALID_SETTINGS', message);
}
