import { describe, expect, test } from 'vitest';
import { decideOwnConfig } from '../../../../shared/kube/decide-own-config.ts';

const SERVER = 'https://127.0.0.1:6443';
const base64 = (text: string): string => Buffer.from(text).toString('base64');

function config(user: object = { token: 't' }, cluster: object = {}, more: object = {}): object {
  return {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'main',
    contexts: [
      { name: 'other', context: { cluster: 'b', user: 'them' } },
      { name: 'main', context: { cluster: 'a', user: 'me' } },
    ],
    clusters: [
      { name: 'b', cluster: { server: 'https://b.invalid' } },
      { name: 'a', cluster: { server: SERVER, ...cluster } },
    ],
    users: [
      { name: 'them', user: { token: 'theirs' } },
      { name: 'me', user },
    ],
    ...more,
  };
}
const decide = (raw: unknown) => decideOwnConfig(raw, 'k.yaml', (file) => `/etc/${file}`);

describe("a process's own kubeconfig", () => {
  test.each<[string, object, object]>([
    ['a token', config(), { server: SERVER, authorization: 'Bearer t' }],
    ['a token in a file', config({ tokenFile: 'token' }), { tokenFile: '/etc/token' }],
    ['a token and a file: the file goes first', config({ token: 't', tokenFile: 'f' }), { tokenFile: '/etc/f' }],
    ['user and password', config({ username: 'u', password: 'p' }), { authorization: `Basic ${base64('u:p')}` }],
    [
      'a client certificate',
      config({ 'client-certificate-data': base64('C'), 'client-key-data': base64('K') }),
      { cert: { pem: 'C' }, key: { pem: 'K' } },
    ],
    [
      'a client certificate in files',
      config({ 'client-certificate': 'c.pem', 'client-key': 'k.pem' }),
      { cert: { file: '/etc/c.pem' }, key: { file: '/etc/k.pem' } },
    ],
    [
      'an authority and a name of the server',
      config({}, { 'certificate-authority-data': base64('CA'), 'tls-server-name': 'kcp' }),
      { ca: { pem: 'CA' }, servername: 'kcp' },
    ],
    ['an authority in a file', config({}, { 'certificate-authority': 'ca.crt' }), { ca: { file: '/etc/ca.crt' } }],
    ['no checks, as its owner says', config({}, { 'insecure-skip-tls-verify': true }), { rejectUnauthorized: false }],
  ])('with %s', (_name, raw, expected) => {
    expect(decide(raw)).toMatchObject(expected);
  });

  test('without any credential the connection need not be encrypted, as through a proxy of kubectl', () => {
    expect(decide(config({}, { server: 'http://127.0.0.1:8001' }))).toMatchObject({ server: 'http://127.0.0.1:8001' });
  });

  test.each(['exec', 'auth-provider'])('with %s needs the library', (plugin) => {
    expect(decide(config({ [plugin]: {} }))).toBe('plugin');
  });

  test.each<[string, object, RegExp]>([
    ['no current context', config({}, {}, { 'current-context': undefined }), /current-context/],
    ['an empty current context', config({}, {}, { 'current-context': '' }), /current-context/],
    ['a context that is not there', config({}, {}, { 'current-context': 'x' }), /no context x/],
    ['a user that is not there', config({}, {}, { users: [] }), /contexts.main.user: there is no me/],
    ['no users at all', config({}, {}, { users: null }), /there is no me/],
    ['a cluster that is not there', config({}, {}, { clusters: [] }), /there is no a/],
    ['no contexts', config({}, {}, { contexts: null }), /no context main/],
    ['a server that is no address', config({}, { server: 'nowhere' }), /clusters\.1\.cluster\.server/],
    ['a proxy', config({}, { 'proxy-url': 'http://proxy' }), /proxy-url/],
    ['an impersonation', config({ as: 'somebody' }), /users\.me\.as/],
    ['nothing in it', {}, /current-context/],
    [
      'a context without a user',
      config({}, {}, { contexts: [{ name: 'main', context: { cluster: 'a' } }] }),
      /contexts\.0\.context\.user: missing/,
    ],
    [
      'two users of one name',
      config(
        {},
        {},
        {
          users: [
            { name: 'me', user: {} },
            { name: 'me', user: {} },
          ],
        },
      ),
      /users: several are named me/,
    ],
    ['a token that is no text', config({ token: 5 }), /users\.me\.token: expected a text/],
    [
      'a token in clear text',
      config({}, { server: 'http://10.0.0.1' }, { users: [{ name: 'me', user: { token: 't' } }] }),
      /clusters\.a\.cluster\.server: users\.me would be sent in clear text/,
    ],
    [
      'a plugin whose credential goes in clear text',
      config({ exec: {} }, { server: 'http://localhost' }),
      /clear text/,
    ],
    ['a file with a token in clear text', config({ tokenFile: 'f' }, { server: 'http://localhost' }), /clear text/],
  ])('with %s is refused, naming the field', (_name, raw, problem) => {
    expect(() => decide(raw)).toThrow(problem);
  });

  test('that is no document is refused', () => {
    expect(() => decide('hello')).toThrow(/k.yaml/);
    expect(() => decide(null)).toThrow(/k.yaml/);
  });
});
