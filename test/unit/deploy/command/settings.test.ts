import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { rootCertificates } from 'node:tls';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { externalKcp } from '../../../../deploy/command/external-kcp.ts';
import { selfSignedCertificate } from '../../../../deploy/command/self-signed.ts';
import {
  concurrencyOf,
  workspaceTuning,
  parseEnvironment,
  redisSettings,
} from '../../../../deploy/command/settings.ts';
import { textOf } from '../../../../shared/queue/redis-settings.ts';
import { isRuntimeError, messageOf } from '../../../../shared/errors.ts';

const REDIS_URL = 'redis://localhost:6379';

function problemOf(env: Record<string, string>): string {
  try {
    parseEnvironment(env);
  } catch (error) {
    if (isRuntimeError(error, 'INVALID_SETTINGS')) return messageOf(error);
    throw error;
  }
  return 'none';
}

describe('the environment', () => {
  test('has a default for everything but Redis', () => {
    expect(parseEnvironment({ REDIS_URL, PATH: '/bin' })).toEqual({
      REDIS_URL,
      LOCAL_ACCESS: false,
      TOKEN_LIFE: 7 * 24 * 3_600_000,
      TOKEN_RENEWAL_THRESHOLD: 0.8,
      TEARDOWN_PATIENCE: 600_000,
      POD_NAMESPACE: 'default',
      CONCURRENCY: new Map([['', 20]]),
      COLD_START_LIMIT: 30_000,
      RUN_LIMIT: 60_000,
      LEASE_DURATION: 15_000,
      JOB_LOCK_DURATION: 15_000,
    });
  });

  test('tokens for workspaces live as long as kcp allows or longer, and are renewed before they end', () => {
    const env = parseEnvironment({
      REDIS_URL,
      TOKEN_LIFE: '10m',
      TOKEN_RENEWAL_THRESHOLD: '0.5',
      TEARDOWN_PATIENCE: '1m',
    });
    expect(workspaceTuning(env)).toEqual({ tokenLifeSeconds: 600, renewalThreshold: 0.5, teardownPatienceMs: 60_000 });
    expect(problemOf({ REDIS_URL, TOKEN_LIFE: '9m' })).toContain('TOKEN_LIFE: expected a duration');
    expect(problemOf({ REDIS_URL, TOKEN_RENEWAL_THRESHOLD: '1' })).toContain('TOKEN_RENEWAL_THRESHOLD');
  });

  test('concurrency is one for all functions, or one apart', () => {
    const env = parseEnvironment({ REDIS_URL, CONCURRENCY: 'provider-install=5,30' });
    expect(concurrencyOf(env, 'provider-install')).toBe(5);
    expect(concurrencyOf(env, 'resolve-credentials')).toBe(30);
    expect(concurrencyOf(parseEnvironment({ REDIS_URL, CONCURRENCY: 'provider-install=5' }), 'provider-delete')).toBe(
      20,
    );
  });

  test('an empty variable is the same as none, as deployments set them', () => {
    expect(
      parseEnvironment({ REDIS_URL, KUBECONFIG: '', CONCURRENCY: '', RUN_LIMIT: '', KCP_EXTERNAL_URL: '' }),
    ).toEqual(parseEnvironment({ REDIS_URL }));
    expect(problemOf({ REDIS_URL: '' })).toContain('REDIS_URL: missing');
  });

  test('is read with Go durations', () => {
    expect(
      parseEnvironment({
        REDIS_URL,
        RUN_LIMIT: '4m50s',
        LEASE_DURATION: '1500ms',
        CONCURRENCY: '7',
        POD_NAMESPACE: 'me',
      }),
    ).toMatchObject({
      RUN_LIMIT: 290_000,
      LEASE_DURATION: 1_500,
      CONCURRENCY: new Map([['', 7]]),
      POD_NAMESPACE: 'me',
    });
  });

  test('a fraction that Redis refuses: times are whole milliseconds', () => {
    expect(parseEnvironment({ REDIS_URL, LEASE_DURATION: '1.0005s' }).LEASE_DURATION).toBe(1_001);
  });

  test.each([
    ['no Redis', {}, /^REDIS_URL: missing; set it to redis:.* or REDIS_URL_FILE/],
    ['concurrency that is no number', { REDIS_URL, CONCURRENCY: 'many' }, /^CONCURRENCY: /],
    ['no concurrency at all', { REDIS_URL, CONCURRENCY: '0' }, /^CONCURRENCY: /],
    ['concurrency of a function that there is none', { REDIS_URL, CONCURRENCY: 'install=5' }, /^CONCURRENCY: /],
    ['half a worker', { REDIS_URL, CONCURRENCY: '1.5' }, /^CONCURRENCY: /],
    ['a run limit without a unit', { REDIS_URL, RUN_LIMIT: '60' }, /^RUN_LIMIT: expected a duration such as 30s/],
    ['a run limit that is too long', { REDIS_URL, RUN_LIMIT: '291s' }, /^RUN_LIMIT: .*at most 290s/],
    [
      'a lease that ends before an answer comes',
      { REDIS_URL, LEASE_DURATION: '10ms' },
      /^LEASE_DURATION: .*at least 1s/,
    ],
    ['a lock of nought', { REDIS_URL, JOB_LOCK_DURATION: '0s' }, /^JOB_LOCK_DURATION: /],
    ['an authority of no address', { REDIS_URL, KCP_EXTERNAL_CA_FILE: 'x' }, /^KCP_EXTERNAL_CA_FILE: goes with/],
    ['a name of no address', { REDIS_URL, KCP_EXTERNAL_SERVER_NAME: 'kcp' }, /^KCP_EXTERNAL_SERVER_NAME: goes with/],
    [
      'a name that is none',
      { REDIS_URL, KCP_EXTERNAL_URL: 'https://kcp', KCP_EXTERNAL_SERVER_NAME: 'a b' },
      /^KCP_EXTERNAL_SERVER_NAME: expected a host name/,
    ],
    ['kcp without encryption', { REDIS_URL, KCP_EXTERNAL_URL: 'http://kcp' }, /^KCP_EXTERNAL_URL: /],
  ])('is refused with %s', (_what, env, message) => {
    expect(problemOf(env)).toMatch(message);
  });

  test('all that is wrong is said at once', () => {
    const problem = problemOf({ CONCURRENCY: 'x', RUN_LIMIT: 'y', KCP_EXTERNAL_URL: 'z' });
    for (const variable of ['CONCURRENCY', 'RUN_LIMIT', 'KCP_EXTERNAL_URL', 'REDIS_URL'])
      expect(problem).toContain(`${variable}: `);
  });

  test('values are not repeated: one of them may be a password', () => {
    const secret = 'hunter2hunter2';
    expect(problemOf({ REDIS_PASSWORD: secret, KCP_EXTERNAL_URL: secret, CONCURRENCY: secret })).not.toContain(secret);
  });
});

describe('how Redis is reached', () => {
  const { cert, key } = selfSignedCertificate('foo');
  const folder = mkdtempSync(join(tmpdir(), 'settings-'));
  afterAll(() => rmSync(folder, { recursive: true }));
  const file = (name: string, text: string): string => {
    writeFileSync(join(folder, name), text);
    return join(folder, name);
  };

  test('by variables', () => {
    const env = parseEnvironment({ REDIS_URL, REDIS_USERNAME: 'u', REDIS_PASSWORD: 'p' });
    expect(redisSettings(env)).toEqual({ url: REDIS_URL, username: 'u', password: 'p', ca: undefined });
  });

  test('by files, which win over variables and lose their last line break', () => {
    const env = parseEnvironment({
      REDIS_URL,
      REDIS_URL_FILE: file('url', 'rediss://other\n'),
      REDIS_PASSWORD: 'p',
      REDIS_PASSWORD_FILE: file('password', 'from-file\n'),
      REDIS_CA_FILE: file('ca', cert),
    });
    const { url, username, password, ca } = redisSettings(env);
    expect(username).toBeUndefined();
    expect([url, password, ca].map((each) => textOf(each ?? ''))).toEqual(['rediss://other', 'from-file', cert.trim()]);
  });

  test('a file that is not there is named', () => {
    const env = parseEnvironment({ REDIS_URL_FILE: join(folder, 'missing') });
    expect(() => redisSettings(env)).toThrow(/^REDIS_URL_FILE: .*missing.*; name a file/);
  });

  const other = selfSignedCertificate('other').key;
  test.each<[string, Record<string, string>, RegExp]>([
    [
      'an empty file',
      { REDIS_URL, REDIS_PASSWORD_FILE: file('empty', '\n') },
      /^REDIS_PASSWORD_FILE: .*empty is empty/,
    ],
    ['a file without an address', { REDIS_URL_FILE: file('no-url', 'here') }, /^REDIS_URL_FILE: not an address/],
    ['an address that is cut', { REDIS_URL: 'redis://u:50%@h' }, /^REDIS_URL: .*percent-encoded/],
    ['an authority that is none', { REDIS_CA_FILE: file('no-ca', 'PEM') }, /^REDIS_CA_FILE: holds no certificate/],
    ['an authority that is cut', { REDIS_CA_FILE: file('cut', cut(cert)) }, /^REDIS_CA_FILE: not valid PEM/],
    [
      'a key of another certificate',
      { REDIS_CERT_FILE: file('cert', cert), REDIS_KEY_FILE: file('key', other) },
      /^REDIS_CERT_FILE and REDIS_KEY_FILE: not valid PEM \(.*mismatch/,
    ],
  ])('%s is refused by its name', (_what, env, message) => {
    const settings = parseEnvironment({ REDIS_URL: 'rediss://other', ...env });
    expect(() => redisSettings({ ...settings, ...(env['REDIS_URL_FILE'] ? { REDIS_URL: undefined } : {}) })).toThrow(
      message,
    );
  });

  test('certificates that belong together are taken', () => {
    const env = { REDIS_CERT_FILE: file('cert', cert), REDIS_KEY_FILE: file('its-key', key) };
    const { key: read = '' } = redisSettings(parseEnvironment({ REDIS_URL: 'rediss://other', ...env }));
    expect(textOf(read)).toBe(key.trim());
  });
});

/** In its middle. */
function cut(pem: string): string {
  const lines = pem.split('\n');
  return [...lines.slice(0, 2), ...lines.slice(-2)].join('\n');
}

test('init and orphans need no queue', () => {
  expect(parseEnvironment({}, { redis: false })).toMatchObject({ POD_NAMESPACE: 'default' });
  expect(() => parseEnvironment({ LOCAL_ACCESS: 'yes' }, { redis: false })).toThrow(/LOCAL_ACCESS/);
});

describe('how workloads reach kcp', () => {
  const dir = mkdtempSync(join(tmpdir(), 'external-kcp-'));
  afterAll(() => rmSync(dir, { recursive: true }));
  const of = (env: Record<string, string>) =>
    externalKcp(parseEnvironment({ REDIS_URL, KCP_EXTERNAL_URL: 'https://kcp.example.org', ...env }));
  const file = (text: string): string => {
    const path = join(dir, 'ca.crt');
    writeFileSync(path, text);
    return path;
  };
  const pem = rootCertificates[0] ?? '';

  test('is as the runtime does, unless it is said', () => {
    expect(externalKcp(parseEnvironment({ REDIS_URL }))).toBeUndefined();
    expect(of({})).toEqual({ url: 'https://kcp.example.org' });
  });

  test('may be by another authority and name', () => {
    const path = file(`${pem}\n${pem}`);
    expect(of({ KCP_EXTERNAL_CA_FILE: path, KCP_EXTERNAL_SERVER_NAME: 'kcp.internal' })).toEqual({
      url: 'https://kcp.example.org',
      ca: `${pem}\n${pem}`,
      tlsServerName: 'kcp.internal',
    });
  });

  test.each([
    ['is not there', () => join(dir, 'none'), /KCP_EXTERNAL_CA_FILE: .*ENOENT/],
    ['holds no certificate', () => file('hello'), /KCP_EXTERNAL_CA_FILE: holds no certificate in PEM/],
    ['holds a damaged one', () => file(pem.replace(/[A-Za-z0-9]{60}/, 'x')), /KCP_EXTERNAL_CA_FILE: not valid PEM/],
  ])('a file that %s is refused at the start', (_what, path, problem) => {
    expect(() => of({ KCP_EXTERNAL_CA_FILE: path() })).toThrow(problem);
  });
});
