import { describe, expect, test } from 'vitest';
import { conceal, type Internal, isInternalHost } from '../../../shared/conceal.ts';

const UUID = '0f6c5e2a-1b2c-8d3e-9f40-5a6b7c8d9e0f';
const INTERNAL: Internal = {
  servers: new Map([
    ['https://api.platform.example.com:6443', 'the platform cluster'],
    ['https://kcp-front.example.com/clusters/root:org:services', 'kcp'],
    ['https://[2001:db8::7]:6443', 'the workload cluster'],
    ['https://203.0.113.9', 'the end user cluster'],
  ]),
  namespaces: new Set(['foo-system', `mcp--${UUID}`, 'root:org:services', 'default']),
  own: new Set(['project-a']),
};
const shown = (text: string, words: 'author' | 'anyone' = 'anyone') => conceal(text, INTERNAL, words).text;

/** Nothing of it may be left in anything that a tenant reads. */
const CANARIES =
  /platform\.example|kcp-front|2001:db8|203\.0\.113|10\.96|10\.0\.0|172\.18|192\.168|fd00|svc|6443|foo-system|mcp--|kcp--|root:org|serviceaccount:|kubernetes-admin|redis-master|shard-1|canary/;

/** As servers, clients and libraries word them. */
const ERRORS: readonly string[] = [
  'connect ECONNREFUSED 10.0.0.1:6443',
  'connect ECONNREFUSED ::1:6443',
  'connect ECONNREFUSED fd00::12:6443',
  'connect ETIMEDOUT 172.18.0.4:443',
  'connect EHOSTUNREACH 192.168.3.4:6443 - Local (10.0.0.2:51234)',
  'connect ENOENT /var/run/canary/redis.sock',
  'read ECONNRESET',
  'write EPIPE',
  'getaddrinfo ENOTFOUND kcp-front.example.com',
  'getaddrinfo EAI_AGAIN canary',
  'queryA ENOTFOUND api.platform.example.com',
  'Connect Timeout Error (attempted address: api.platform.example.com:6443, timeout: 10000ms)',
  'Connect Timeout Error (attempted addresses: 10.0.0.1:6443, 10.0.0.2:6443, timeout: 10000ms)',
  'Client network socket disconnected before secure TLS connection was established',
  "Hostname/IP does not match certificate's altnames: Host: canary. is not in the cert's altnames: DNS:kcp-front.example.com, IP Address:10.0.0.1",
  "Hostname/IP does not match certificate's altnames: IP: 10.0.0.1 is not in the cert's list: 10.96.0.1",
  'GET https://api.platform.example.com:6443/api/v1/namespaces/foo-system/secrets/x: connect ECONNREFUSED 10.0.0.1:6443',
  'GET https://kcp-front.example.com/services/apiexport/root:org:services/foo/clusters/*/apis/foo.io/v1/foos: 403 no',
  'request to http://redis-master.foo-system.svc.cluster.local:6379 failed, reason: socket hang up',
  'getaddrinfo ENOTFOUND redis-master.foo-system.svc',
  'Connection to redis-master:6379 timed out',
  `secrets "foo--cp--mcp.kubeconfig" is forbidden: User "system:serviceaccount:foo-system:foo" cannot get resource "secrets" in API group "" in the namespace "mcp--${UUID}"`,
  'foos.foo.io is forbidden: User "kubernetes-admin" cannot list resource "foos" in API group "foo.io" at the cluster scope: access denied',
  'users "kubernetes-admin" is forbidden: User "system:serviceaccount:default:canary" cannot impersonate resource "users"',
  'serviceaccounts "foo" is forbidden: user "system:serviceaccount:foo-system:foo" (groups=["system:serviceaccounts" "canary"]) is attempting to grant RBAC permissions not currently held',
  `namespaces "mcp--${UUID}" not found`,
  `namespaces "kcp--${UUID}" is forbidden: unable to create new content in namespace kcp--${UUID} because it is being terminated`,
  `Waiting for AccessRequest mcp--${UUID}/foo--cp--mcp to be granted`,
  'Secret foo-system/registry, which the provider refers to, does not exist',
  'ClusterRequest canary-system/shared, which access.clusters.x names, does not exist on the platform cluster',
  'failed calling webhook "v.example.org": failed to call webhook: Post "https://canary.foo-system.svc:443/validate?timeout=10s": dial tcp 10.96.3.4:443: connect: connection refused',
  'Get "https://10.96.0.1:443/api?timeout=32s": dial tcp 10.96.0.1:443: i/o timeout',
  'dial tcp: lookup kcp-front.example.com on 10.96.0.10:53: no such host',
  'dial tcp [fd00::1]:6443: connect: connection refused',
  'read tcp 10.0.0.2:51234->10.0.0.1:6443: read: connection reset by peer',
  'tls: failed to verify certificate: x509: certificate is valid for kubernetes.default.svc, canary, not kcp-front.example.com',
  'x509: certificate is valid for 10.96.0.1, 10.0.0.1, not 203.0.113.9',
  'unexpected answer from shard-1.example.com:6443: 502',
  'etcdserver: request timed out; leader at http://10.0.0.7:2379',
  'kubeconfig in foo-system/kcp-kubeconfig: clusters.0.cluster.server: refused',
  'no shard is known to serve abc; GET https://[2001:db8::7]:6443/clusters/*: connect ECONNREFUSED 2001:db8::7:6443',
  'json: {"error":"cannot reach https:\\/\\/x","at":"10.0.0.1:6443","server":"https://10.0.0.1:6443/"}',
  'line one\\n10.0.0.1 line two',
  'the workspace root:org:services does not exist',
  'GET /services/apiexport/root:org/foo/clusters/canary/api answered 404',
];

describe('whatever an error holds, nothing internal is left of it', () => {
  test.each(ERRORS)('%s', (text) => {
    expect(shown(text)).not.toMatch(CANARIES);
  });

  /** The same inside of what people make of errors. */
  const wrapped: [string, (text: string) => string][] = [
    ['in a sentence', (text) => `install failed: ${text}.`],
    ['in brackets', (text) => `failed (${text})`],
    ['in JSON', (text) => JSON.stringify({ reason: text })],
    ['in JSON in JSON', (text) => JSON.stringify({ reason: JSON.stringify({ text }) })],
    ['in several lines', (text) => `first\n${text}\nlast`],
    ['twice', (text) => `${text}; ${text}`],
    ['after a comma', (text) => `a,${text},b`],
  ];
  describe.each(wrapped)('%s', (_how, wrap) => {
    test.each(ERRORS)('%s', (text) => {
      const once = shown(wrap(text));
      expect(once).not.toMatch(CANARIES);
      expect(shown(once)).toBe(once);
    });
  });

  test.each(ERRORS)('and done again it is the same: %s', (text) => {
    const once = shown(text);
    expect(conceal(once, INTERNAL, 'anyone')).toEqual({ text: once, hidden: false });
    expect(shown(once, 'author')).toBe(once);
  });
});

describe('what is left still says what is wrong', () => {
  test.each([
    ['connect ECONNREFUSED 10.0.0.1:6443', 'connect ECONNREFUSED [address]'],
    [
      `Waiting for AccessRequest mcp--${UUID}/foo--cp--mcp to be granted`,
      'Waiting for AccessRequest foo--cp--mcp to be granted',
    ],
    ['Secret foo-system/registry does not exist', 'Secret registry does not exist'],
    [
      'secrets "x" is forbidden: User "system:serviceaccount:foo-system:foo" cannot get resource "secrets" in API group "" in the namespace "foo-system"',
      'secrets "x" is forbidden: User "[account]" cannot get resource "secrets" in API group "" in the namespace "[namespace]"',
    ],
    ['Get "https://10.96.0.1/api": no route to host', 'Get "[address]": no route to host'],
  ])('%s', (text, expected) => {
    expect(shown(text)).toBe(expected);
  });

  test('names that a tenant needs stay', () => {
    for (const text of [
      'Only one is served in a workspace: default/older is older; this one follows when that is deleted',
      'The APIBinding foo does not accept the permission claims clusterroles.rbac.authorization.k8s.io (get, list) of the APIExport',
      'foos.foo.services.open-control-plane.io "cp" is invalid: spec.replicas: Invalid value: 12: must be at most 10',
      'configmaps "mine" is forbidden: exceeded quota in the namespace "project-a"',
      'secrets "mine" not found in the namespace "default"',
      'started at 2026-05-05T05:05:05Z and took 12:34:56',
      'version v1.2.3.4 is not offered; use 1.27.3',
      'call ended with exit code:137, line:42',
      'a::b is no type of sha256:0a1b2c3d4e5f',
      'The service is removed once these objects of yours are deleted: 3 Widget.example.org',
    ])
      expect(conceal(text, INTERNAL, 'anyone')).toEqual({ text, hidden: false });
  });

  test('a namespace that is only dropped from a name is nothing that anybody misses', () => {
    expect(conceal('Secret foo-system/registry', INTERNAL, 'anyone').hidden).toBe(false);
    expect(conceal('connect ECONNREFUSED 10.0.0.1:1', INTERNAL, 'anyone').hidden).toBe(true);
  });
});

describe("an author's own words", () => {
  test.each([
    'reachable at https://shop.example.org/ui?tenant=a',
    'reachable at shop.example.org:8443 and 198.51.100.7:443',
    'https://198.51.100.7:443',
    'podCIDR 10.0.0.0/8',
    'image registry.example.org:5000/app:1.2.3',
  ])('public addresses stay: %s', (text) => {
    expect(shown(text, 'author')).toBe(text);
    expect(shown(text, 'anyone') === text && !text.startsWith('podCIDR')).toBe(false);
  });

  test.each(ERRORS.filter((text) => !/redis-master:6379|users "|shard-1|canary-system|^no shard/.test(text)))(
    'but nothing internal, as in an error that was passed on: %s',
    (text) => {
      expect(shown(text, 'author')).not.toMatch(CANARIES);
    },
  );
});

test.each([
  ['10.1.2.3', true],
  ['172.16.0.1', true],
  ['172.32.0.1', false],
  ['100.64.0.1', true],
  ['8.8.8.8', false],
  ['localhost', true],
  ['redis.foo.svc', true],
  ['a.svc.cluster.local', true],
  ['kcp.internal', true],
  ['kcp.example.com', false],
  ['[::1]', true],
  ['[fd00::1]', true],
  ['[2001:db8::1]', false],
])('%s is internal: %s', (host, internal) => {
  expect(isInternalHost(host)).toBe(internal);
});

test('takes time that grows as the text does, whatever is in it', () => {
  const LENGTH = 8 * 1024;
  const cpuMs = (text: string): number => {
    const before = process.cpuUsage();
    conceal(text, INTERNAL, 'anyone');
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1_000;
  };
  const parts = [
    'a',
    'a.',
    '1.',
    '1.1.1.1',
    ':',
    'a:',
    '::1 ',
    '/',
    '/api',
    '[',
    '[1',
    '"',
    ' ',
    'user ',
    'user "',
    'groups=[',
  ];
  parts.push(
    'system:',
    'https://',
    'https://a ',
    'dial tcp ',
    'lookup ',
    'connect EABC a',
    'namespace "',
    'Cluster a',
    '.svc.',
    'Host: ',
    '-',
    '\\',
  );
  for (const part of parts) {
    const text = (length: number) => part.repeat(Math.ceil(length / part.length));
    const least = (length: number) => Math.min(...[1, 2, 3].map(() => cpuMs(text(length))));
    expect.soft(least(16 * LENGTH), part).toBeLessThan(80 * Math.max(1, least(LENGTH)));
  }
}, 30_000);
