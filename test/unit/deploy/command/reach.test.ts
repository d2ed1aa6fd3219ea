import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { Onboarding } from '../../../../deploy/command/onboarding.ts';
import { followReach, type Reach } from '../../../../deploy/command/reach.ts';
import foo from '../../../../functions/providers/foo/provider.ts';
import { clientFor } from '../../../../shared/kube/connect.ts';
import { HttpKubeClient } from '../../../../shared/kube/client.ts';
import { formatKubeconfig } from '../../../../shared/kube/kubeconfig.ts';
import { FrozenProxy } from '../../../support/frozen-proxy.ts';

/** Three API servers in one, by the first part of the path, each behind a proxy of its own that can freeze. */
const SERVERS = ['platform', 'onboarding', 'kcp'] as const;
type Name = (typeof SERVERS)[number];

let server: Server;
let proxies: Map<Name, FrozenProxy>;
/** Of one server's answers, in place of what it would say. */
let refusing: { name: Name; status: number } | undefined;
let asked: string[];
let waiting: string[];
let reach: Reach;

const at = (name: Name): string => `http://127.0.0.1:${proxies.get(name)?.port}/${name}`;
const LIMIT_MS = 300;

function answer(url: string, response: ServerResponse): void {
  const [, name, ...rest] = url.split('?')[0]?.split('/') ?? [];
  const path = rest.join('/');
  asked.push(`${name} ${path}`);
  if (refusing && refusing.name === name)
    return void response.writeHead(refusing.status).end(JSON.stringify({ kind: 'Status', message: 'no' }));
  const kubeconfig = formatKubeconfig({ server: at('kcp') });
  const kcp = { providerWorkspace: 'root:services', kubeconfigSecret: { name: 'kcp', namespace: 'n' } };
  const endpoints = [{ url: `${at('kcp')}/virtual` }];
  const found = {
    providerconfigs: { metadata: { name: 'foo' }, spec: { kcp } },
    secrets: { metadata: { name: 'kcp' }, data: { kubeconfig: Buffer.from(kubeconfig).toString('base64') } },
    apiexportendpointslices: {
      metadata: {},
      items: [{ metadata: { name: 's' }, spec: { export: { name: foo.kcp?.exportName } }, status: { endpoints } }],
    },
  };
  const [, body = { metadata: {}, items: [] }] = Object.entries(found).find(([part]) => path.includes(part)) ?? [];
  response.writeHead(200).end(JSON.stringify(body));
}

beforeEach(async () => {
  asked = [];
  waiting = [];
  refusing = undefined;
  server = createServer((request, response) => answer(request.url ?? '', response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const target = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  proxies = new Map();
  for (const name of SERVERS) proxies.set(name, await FrozenProxy.to(target));
  begin({ client: clientFor({ server: at('onboarding') }), problems: () => waiting, stop: () => undefined });
});

afterEach(() => {
  reach.stop();
  for (const proxy of proxies.values()) proxy.close();
  server.closeAllConnections();
  server.close();
});

function begin(onboarding: Onboarding): void {
  const platform = clientFor({ server: at('platform') });
  reach = followReach({ provider: foo, platform, onboarding, namespace: 'n', everyMs: 20, limitMs: LIMIT_MS });
}
const said = (): string[] => reach.problems();
const PATIENT = { timeout: 5_000 };
const like = (text: string): unknown => expect.stringContaining(text);

test('servers that answer are nothing to speak of, and each is asked for what is needed there', async () => {
  expect(reach.problems()).toEqual(['platform cluster: not asked yet', 'onboarding cluster: not asked yet']);
  await expect.poll(said, PATIENT).toEqual([]);
  await vi.waitFor(() => expect(asked).toContainEqual(like('virtual/clusters/*/apis/apis.kcp.io')));
  await expect.poll(said, PATIENT).toEqual([]);
  expect(new Set(asked.map((each) => each.split('/').at(-1)))).toEqual(
    new Set(['foo', 'foos', 'kcp', 'apiexportendpointslices', 'apibindings']),
  );
});

test.each<[Name, unknown[]]>([
  ['platform', [like('platform cluster: GET http')]],
  ['onboarding', [like('onboarding cluster: foos: GET http')]],
  ['kcp', [like('kcp: root:services: GET http'), like('/virtual: GET http')]],
])(
  '%s, frozen behind connections that stay, is named, and nothing else is; thawed, it is well',
  async (name, lines) => {
    await vi.waitFor(() => expect(asked).toContainEqual(like('apibindings')));
    await expect.poll(said, PATIENT).toEqual([]);
    proxies.get(name)?.freeze();
    await expect.poll(said, PATIENT).toEqual(lines);
    proxies.get(name)?.thaw();
    await expect.poll(said, PATIENT).toEqual([]);
  },
);

test.each([401, 403, 404, 503])('one that answers with %i is named', async (status) => {
  await expect.poll(said, PATIENT).toEqual([]);
  refusing = { name: 'onboarding', status };
  await expect.poll(said, PATIENT).toEqual([like(`onboarding cluster: foos: GET ${at('onboarding')}`)]);
  refusing = undefined;
  await expect.poll(said, PATIENT).toEqual([]);
});

test('one that is busy is there', async () => {
  await expect.poll(said, PATIENT).toEqual([]);
  refusing = { name: 'onboarding', status: 429 };
  const count = asked.length;
  await vi.waitFor(() => expect(asked.length).toBeGreaterThan(count + 10));
  expect(reach.problems()).toEqual([]);
});

test('access that is waited for is said by whoever waits', async () => {
  reach.stop();
  waiting = ['no access to the onboarding cluster yet'];
  const client = HttpKubeClient.deferred('onboarding cluster', new Promise(() => undefined));
  begin({ client, problems: () => waiting, stop: () => undefined });
  await expect.poll(said, PATIENT).toEqual([]);
});

test('nothing is asked after the end', async () => {
  await expect.poll(said, PATIENT).toEqual([]);
  proxies.get('platform')?.freeze();
  reach.stop();
  await vi.waitFor(async () => {
    const count = asked.length;
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(asked).toHaveLength(count);
  });
});
