import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test, vi } from 'vitest';
import { stringify } from 'yaml';
import { isRuntimeError, messageOf } from '../../../../shared/errors.ts';
import {
  type ClusterCredentials,
  formatKubeconfig,
  kubeconfigFromSecret,
  parseKubeconfig,
} from '../../../../shared/kube/kubeconfig.ts';

const SECRET = 'v3ry-s3cret-value';
const base64 = (text: string): string => Buffer.from(text).toString('base64');

function kubeconfig(cluster: object = {}, user: object = { token: SECRET }, rest: object = {}): string {
  return stringify({
    clusters: [{ name: 'c', cluster: { server: 'https://host:6443/', ...cluster } }],
    users: [{ name: 'u', user }],
    contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
    'current-context': 'x',
    ...rest,
  });
}

function problemOf(text: string): string {
  try {
    parseKubeconfig(text, 'Secret n/s');
  } catch (error) {
    if (isRuntimeError(error, 'INVALID_KUBECONFIG')) return messageOf(error);
    throw error;
  }
  return 'none';
}

describe('a kubeconfig', () => {
  test.each<ClusterCredentials>([
    { server: 'https://host:6443/clusters/root:org', ca: 'CA', token: SECRET },
    { server: 'https://host', tlsServerName: 'other', clientCertificate: 'CERT\n', clientKey: 'KEY\n' },
    { server: 'http://127.0.0.1:8080' },
  ])('that we write is read back', (credentials) => {
    expect(parseKubeconfig(formatKubeconfig(credentials), 'w')).toEqual(credentials);
  });

  test('the current context decides between several clusters and users', () => {
    const text = kubeconfig(
      {},
      {},
      {
        clusters: [
          { name: 'a', cluster: { server: 'https://a' } },
          { name: 'b', cluster: { server: 'https://b' } },
        ],
        users: [
          { name: 'a', user: { token: 'token-a' } },
          { name: 'b', user: { token: 'token-b' } },
        ],
        contexts: [
          { name: 'a', context: { cluster: 'a', user: 'a' } },
          { name: 'b', context: { cluster: 'b', user: 'b' } },
        ],
        'current-context': 'b',
      },
    );
    expect(parseKubeconfig(text, 'w')).toMatchObject({ server: 'https://b', token: 'token-b' });
  });

  test("one entry's credential never goes to another's server", () => {
    const entry = (name: string) => ({
      cluster: { name, cluster: { server: `https://${name}` } },
      user: { name, user: { token: `token-${name}` } },
    });
    const lists = {
      clusters: [entry('a').cluster, entry('b').cluster],
      users: [entry('b').user, entry('a').user],
      contexts: [{ name: 'b', context: { cluster: 'b', user: 'b' } }],
    };
    expect(parseKubeconfig(kubeconfig({}, {}, { ...lists, 'current-context': 'b' }), 'w')).toMatchObject({
      server: 'https://b',
      token: 'token-b',
    });
    for (const current of [undefined, '', 'a'])
      expect(problemOf(kubeconfig({}, {}, { ...lists, 'current-context': current }))).toMatch(/current-context: /);
  });

  test('insecure connections only where that is allowed for development', () => {
    const text = kubeconfig({ 'insecure-skip-tls-verify': true });
    expect(problemOf(text)).toBe(
      'kubeconfig in Secret n/s: cluster.insecure-skip-tls-verify is refused: give certificate-authority-data',
    );
    expect(parseKubeconfig(text, 'w', { allowInsecure: true }).insecure).toBe(true);
    expect(parseKubeconfig(kubeconfig(), 'w', { allowInsecure: true }).insecure).toBeUndefined();
  });

  test.each([
    ['certificate-authority', /embed .*certificate-authority-data/],
    ['proxy-url', /remove it/],
  ])('cluster.%s is refused, with the remedy and without the value', (field, remedy) => {
    const problem = problemOf(kubeconfig({ [field]: SECRET }));
    expect(problem).toMatch(new RegExp(`^kubeconfig in Secret n/s: cluster.${field} is refused: `));
    expect(problem).toMatch(remedy);
    expect(problem).not.toContain(SECRET);
  });

  test.each([
    ['exec', /token or an embedded client certificate/],
    ['auth-provider', /token or an embedded client certificate/],
    ['tokenFile', /embed the token/],
    ['client-certificate', /client-certificate-data/],
    ['client-key', /client-key-data/],
    ['username', /use a token/],
    ['password', /use a token/],
    ['as', /impersonation/],
    ['as-uid', /impersonation/],
    ['as-groups', /impersonation/],
    ['as-user-extra', /impersonation/],
  ])('user.%s is refused, with the remedy and without the value, also beside a token', (field, remedy) => {
    const problem = problemOf(kubeconfig({}, { token: SECRET, [field]: { command: SECRET } }));
    expect(problem).toMatch(new RegExp(`^kubeconfig in Secret n/s: user.${field} is refused: `));
    expect(problem).toMatch(remedy);
    expect(problem).not.toContain(SECRET);
  });

  test.each([
    ['an empty text', '', /document/],
    ['a text that is no object', SECRET, /document/],
    ['broken YAML', `users: [${SECRET}`, /not valid YAML/],
    ['broken quoting', `token: "${SECRET}`, /not valid YAML/],
    ['no clusters', kubeconfig({}, undefined, { clusters: [] }), /contexts\.x\.cluster: there is no c$/],
    ['a server that is no address', kubeconfig({ server: SECRET }), /clusters\.0\.cluster\.server/],
    ['a server of another kind', kubeconfig({ server: `file:///${SECRET}` }), /clusters\.0\.cluster\.server/],
    [
      'a context that is not there',
      kubeconfig({}, undefined, { 'current-context': 'y' }),
      /current-context: there is no context y$/,
    ],
    [
      'no current context',
      kubeconfig({}, undefined, { 'current-context': undefined }),
      /current-context: missing; name/,
    ],
    ['an empty current context', kubeconfig({}, undefined, { 'current-context': '' }), /current-context: empty; name/],
    [
      'a current context of null',
      kubeconfig({}, undefined, { 'current-context': null }),
      /current-context: missing; name/,
    ],
    ['no contexts', kubeconfig({}, undefined, { contexts: undefined }), /current-context: there is no context x$/],
    [
      'null in place of lists',
      kubeconfig({}, undefined, { contexts: null, clusters: null, users: null }),
      /there is no context x$/,
    ],
    ['null in place of users', kubeconfig({}, undefined, { users: null }), /contexts\.x\.user: there is no u$/],
    [
      'no user in the context',
      kubeconfig({}, undefined, { contexts: [{ name: 'x', context: { cluster: 'c' } }] }),
      /contexts\.0\.context\.user: missing; name the user/,
    ],
    [
      'no cluster in the context',
      kubeconfig({}, undefined, { contexts: [{ name: 'x', context: { user: 'u' } }] }),
      /contexts\.0\.context\.cluster: missing/,
    ],
    [
      'a user that is not there',
      kubeconfig({}, undefined, { contexts: [{ name: 'x', context: { cluster: 'c', user: 'y' } }] }),
      /contexts\.x\.user: there is no y$/,
    ],
    [
      'two users of one name',
      kubeconfig({}, undefined, {
        users: [
          { name: 'u', user: { token: SECRET } },
          { name: 'u', user: {} },
        ],
      }),
      /users: several are named u/,
    ],
    ['a token that is no text', kubeconfig({}, { token: 12345678 }), /users\.u\.token: expected a text/],
    [
      'a token that would be sent in clear text',
      kubeconfig({ server: 'http://127.0.0.1:8080' }),
      /cluster\.server is refused: .* clear text; use https:/,
    ],
    [
      'a certificate at a server without encryption',
      kubeconfig({ server: 'http://host' }, { 'client-certificate-data': base64(SECRET) }),
      /clear text/,
    ],
    [
      'a context of a cluster that is not there',
      kubeconfig({}, undefined, { contexts: [{ name: 'x', context: { cluster: 'y', user: 'u' } }] }),
      /contexts\.x\.cluster: there is no y$/,
    ],
  ])('%s is refused, and no value is in the message', (_what, text, message) => {
    expect(problemOf(text)).toMatch(message);
    expect(problemOf(text)).not.toContain(SECRET);
  });

  test('a parser that quotes what it read: nothing of a credential is printed as a warning', async () => {
    const warned = vi.fn<(warning: Error) => void>();
    process.on('warning', warned);
    problemOf(`${kubeconfig({}, {})}\nextra: !!odd ${SECRET}\n`);
    await sleep(5);
    process.off('warning', warned);
    expect(warned).not.toHaveBeenCalled();
  });
});

describe('the kubeconfig in a Secret', () => {
  test('is its key kubeconfig, or another that was named', () => {
    const secret = { data: { kubeconfig: base64('one'), value: base64('two') } };
    expect(kubeconfigFromSecret(secret, 'n/s')).toBe('one');
    expect(kubeconfigFromSecret(secret, 'n/s', 'value')).toBe('two');
  });

  test.each([[{}], [{ data: {} }], [{ data: { other: base64('x') } }], [{ data: { kubeconfig: '' } }]])(
    'nothing else takes its place where it is missing: %j',
    (secret) => {
      expect(() => kubeconfigFromSecret(secret, 'n/s')).toThrow(
        expect.objectContaining({ code: 'INVALID_KUBECONFIG', message: 'Secret n/s holds no key kubeconfig' }) as Error,
      );
    },
  );
});
