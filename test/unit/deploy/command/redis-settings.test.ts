import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { selfSignedCertificate } from '../../../../deploy/command/self-signed.ts';
import { parseEnvironment, redisSettings } from '../../../../deploy/command/settings.ts';
import { isRuntimeError, messageOf } from '../../../../shared/errors.ts';
import { senderConnection, workerConnection } from '../../../../shared/queue/redis.ts';
import { opennessProblem, type RedisSettings } from '../../../../shared/queue/redis-settings.ts';

const folder = mkdtempSync(join(tmpdir(), 'redis-settings-'));
afterAll(() => rmSync(folder, { recursive: true }));
const file = (name: string, text: string): string => {
  writeFileSync(join(folder, name), text);
  return join(folder, name);
};

const settingsOf = (env: Record<string, string>): RedisSettings => redisSettings(parseEnvironment(env));

function problemOf(env: Record<string, string>): string {
  try {
    settingsOf(env);
  } catch (error) {
    if (isRuntimeError(error, 'INVALID_SETTINGS')) return messageOf(error);
    throw error;
  }
  return 'none';
}

const { cert, key } = selfSignedCertificate('foo');
const PEM: Record<string, string> = { REDIS_CA_FILE: cert, REDIS_CERT_FILE: cert, REDIS_KEY_FILE: key };
const URL = { REDIS_URL: 'redis://one:6379' };
const SENTINELS = { REDIS_SENTINELS: 'a:26379, b:26380', REDIS_SENTINEL_MASTER: 'work' };
const CLUSTER = { REDIS_CLUSTER_NODES: 'a:1,[::1]:2' };

describe('contradictions are refused, with the variable and what to do', () => {
  test.each([
    ['an address and sentinels', { ...URL, ...SENTINELS }, /^REDIS_SENTINELS: contradicts REDIS_URL; unset one/],
    [
      'an address in a file and a cluster',
      { REDIS_URL_FILE: '/url', ...CLUSTER },
      /^REDIS_CLUSTER_NODES: contradicts REDIS_URL_FILE; unset one/,
    ],
    ['sentinels and a cluster', { ...SENTINELS, ...CLUSTER }, /^REDIS_CLUSTER_NODES: contradicts REDIS_SENTINELS;/],
    ['sentinels of no master', { REDIS_SENTINELS: 'a:1' }, /^REDIS_SENTINEL_MASTER: missing; set it to the name/],
    [
      'a master without sentinels',
      { ...URL, REDIS_SENTINEL_MASTER: 'x' },
      /^REDIS_SENTINEL_MASTER: goes with REDIS_SE/,
    ],
    [
      'a password of no sentinels',
      { ...CLUSTER, REDIS_SENTINEL_PASSWORD: 'x' },
      /^REDIS_SENTINEL_PASSWORD: goes with REDIS_SENTINELS; set that/,
    ],
    ['sentinels without a port', { ...SENTINELS, REDIS_SENTINELS: 'a,b:1' }, /^REDIS_SENTINELS: expected host:port/],
    ['a port that is none', { REDIS_CLUSTER_NODES: 'a:70000' }, /^REDIS_CLUSTER_NODES: expected host:port/],
    ['a certificate without its key', { ...URL, REDIS_CERT_FILE: '/c' }, /^REDIS_KEY_FILE: missing; REDIS_CERT_FILE/],
    ['a key without its certificate', { ...URL, REDIS_KEY_FILE: '/k' }, /^REDIS_CERT_FILE: missing; REDIS_KEY_FILE/],
    ['neither yes nor no', { ...CLUSTER, REDIS_TLS: 'yes' }, /^REDIS_TLS: /],
  ])('%s', (_what, env, message) => {
    expect(problemOf(env)).toMatch(message);
  });

  test.each([
    ['REDIS_CA_FILE', URL, ['REDIS_CA_FILE']],
    ['REDIS_CA_FILE', SENTINELS, ['REDIS_CA_FILE']],
    ['REDIS_CERT_FILE', CLUSTER, ['REDIS_CERT_FILE', 'REDIS_KEY_FILE']],
  ])('%s where nothing is encrypted', (variable, env, files) => {
    const given = { ...env, ...Object.fromEntries(files.map((name) => [name, file(name, PEM[name] ?? '')])) };
    expect(problemOf(given)).toMatch(
      new RegExp(`^${variable}: the connection is not encrypted; use rediss://.*REDIS_TLS`),
    );
    expect(problemOf({ ...given, REDIS_TLS: 'true' })).toBe('none');
  });
});

describe('what ioredis is given', () => {
  test('for an address', () => {
    expect(workerConnection({ url: 'rediss://u:p%40@[::1]:7/3', ca: 'CA', cert: 'C', key: 'K' })).toMatchObject({
      host: '::1',
      port: 7,
      db: 3,
      username: 'u',
      password: 'p@',
      tls: { ca: 'CA', cert: 'C', key: 'K' },
    });
  });

  test('for sentinels, which may have a password of their own', () => {
    const env = {
      ...SENTINELS,
      REDIS_TLS: 'true',
      REDIS_CA_FILE: file('ca', cert),
      REDIS_PASSWORD: 'p',
      REDIS_SENTINEL_PASSWORD: 'loses',
      REDIS_SENTINEL_PASSWORD_FILE: file('password', 's\n'),
    };
    const connection = senderConnection(settingsOf(env));
    expect(String(connection.sentinelPassword)).toBe('s');
    expect(connection).toMatchObject({
      sentinels: [
        { host: 'a', port: 26379 },
        { host: 'b', port: 26380 },
      ],
      name: 'work',
      password: 'p',
      tls: { ca: cert.trim() },
      sentinelTLS: { ca: cert.trim() },
      enableTLSForSentinelMode: true,
    });
  });

  test('for a cluster', () => {
    const connection = workerConnection(settingsOf(CLUSTER));
    expect(connection.cluster).toEqual([
      { host: 'a', port: 1 },
      { host: '::1', port: 2 },
    ]);
    expect(connection).not.toHaveProperty('host');
    expect(connection).not.toHaveProperty('tls');
  });
});

test('files are read again for each connection, and one that is away or spoilt counts as it was', () => {
  const env = {
    REDIS_URL_FILE: file('renewed-url', 'rediss://u1:p1@one'),
    REDIS_CA_FILE: file('renewed-ca', cert),
  };
  const own = { ...CLUSTER, REDIS_PASSWORD_FILE: file('renewed-password', 's1\n') };
  const [inUrl, apart] = [workerConnection(settingsOf(env)), workerConnection(settingsOf(own))];
  const now = () => [inUrl.username, inUrl.password, (inUrl.tls as { ca: string }).ca, apart.password].map(String);
  expect(now()).toEqual(['u1', 'p1', cert.trim(), 's1']);
  file('renewed-url', 'rediss://u2:p%40@one');
  file('renewed-ca', 'CA2');
  file('renewed-password', 's2\n');
  expect(now()).toEqual(['u2', 'p@', 'CA2', 's2']);
  file('renewed-url', 'none');
  file('renewed-ca', '\n');
  rmSync(own.REDIS_PASSWORD_FILE);
  expect(now()).toEqual(['u2', 'p@', 'CA2', 's2']);
});

describe('a server that is open to all', () => {
  test.each([URL, SENTINELS, CLUSTER])('is warned of: %o', (env) => {
    expect(opennessProblem(settingsOf(env))).toMatch(/^Redis is used without a password: .* REDIS_PASSWORD_FILE$/);
    const withPassword = settingsOf({ ...env, REDIS_PASSWORD: 'p' });
    expect(opennessProblem({ ...withPassword, tls: undefined })).toMatch(
      /password is sent in clear text: .* REDIS_TLS/,
    );
    expect(opennessProblem({ ...withPassword, tls: true })).toBeUndefined();
  });

  test.each(['redis://localhost', 'redis://127.0.0.1:1', 'redis://[::1]', 'redis://:p@localhost', 'rediss://u:p@one'])(
    'but not of %s',
    (url) => expect(opennessProblem({ url })).toBeUndefined(),
  );

  test('nor where clients need a certificate', () => {
    expect(opennessProblem({ url: 'rediss://one', cert: 'C', key: 'K' })).toBeUndefined();
  });
});
