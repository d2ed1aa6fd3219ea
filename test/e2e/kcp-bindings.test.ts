import type { AddressInfo } from 'node:net';
import { connect, createServer, type Server, type TLSSocket } from 'node:tls';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { selfSignedCertificate } from '../../deploy/command/self-signed.ts';
import type { ApiExport } from '../../bridge/kcp/decide-provision.ts';
import foo from '../../functions/providers/foo/provider.ts';
import type { HttpKubeClient } from '../../shared/kube/client.ts';
import { kubeconfigFromSecret, parseKubeconfig } from '../../shared/kube/kubeconfig.ts';
import { API_BINDINGS, API_EXPORT_ENDPOINT_SLICES, API_EXPORTS } from '../../shared/kube/resources.ts';
import type { KubeObject } from '../../shared/model/kubernetes.ts';
import type { ApiBinding } from '../support/bindings.ts';
import { KcpTenants } from '../support/kcp-tenants.ts';
import { installedFoo } from '../support/requests.ts';
import { createStage, type Stage } from '../support/stage.ts';
import { eventually } from '../support/wait.ts';

const NAME = foo.kcp?.exportName ?? '';

let stage: Stage;
let tenants: KcpTenants;
let services: HttpKubeClient;
let front: Server;
/** Names by which clients have asked for the address of workloads. */
const asked = new Set<unknown>();

beforeAll(async () => {
  stage = await createStage({ provider: foo, kcp: true });
  tenants = new KcpTenants(stage);
  services = stage.landscape.services.client;
  // For workloads, kcp has an address of its own, with a certificate of another authority.
  const { kcp } = stage.landscape;
  const upstream = new URL(kcp.server);
  const certificate = selfSignedCertificate('kcp.example.org');
  front = createServer(certificate, (socket) => {
    asked.add((socket as TLSSocket & { servername?: unknown }).servername);
    const { ca } = kcp.adminCredentials;
    const on = connect({ host: upstream.hostname, port: Number(upstream.port), ...(ca ? { ca } : {}) });
    for (const [from, to] of [[socket, on] as const, [on, socket] as const])
      from.on('error', () => to.destroy()).pipe(to);
  });
  await new Promise<void>((resolve) => front.listen(0, '127.0.0.1', resolve));
  const url = `https://127.0.0.1:${(front.address() as AddressInfo).port}`;
  await stage.run({ kcpExternal: { url, ca: certificate.cert, tlsServerName: 'kcp.example.org' } });
});

afterAll(async () => {
  await stage?.stop();
  front?.close();
});

test('what workloads get leads to their address, by its authority and its name', async () => {
  const workspace = await tenants.bound('outside');
  await tenants.orders(workspace).create('mine', '1');
  await tenants.orders(workspace).untilReady('mine');
  expect(await installedFoo(workspace)).toBe('1');
  const secret = await tenants.secretOf(workspace);
  const { server, ca, tlsServerName } = parseKubeconfig(kubeconfigFromSecret(secret ?? {}, 'test'), 'test');
  expect(new URL(server).port).toBe(String((front.address() as AddressInfo).port));
  expect(ca).not.toBe(stage.landscape.kcp.adminCredentials.ca);
  expect(tlsServerName).toBe('kcp.example.org');
  expect([...asked]).toEqual(['kcp.example.org']);
});

test('a second binding of the export, which accepts nothing, takes nothing from the first', async () => {
  const workspace = await tenants.bound('twice');
  const orders = tenants.orders(workspace);
  await orders.create('mine', '1');
  await orders.untilReady('mine');
  const reference = { export: { path: stage.landscape.services.path, name: NAME } };
  // Before and behind the first in any list.
  for (const name of ['aaa', 'zzz'])
    await workspace.client.create<ApiBinding>(API_BINDINGS, { metadata: { name }, spec: { reference } });
  await eventually('kcp has looked at it', async (seen) => {
    const binding = await workspace.client.get<ApiBinding>(API_BINDINGS, 'aaa');
    seen(binding?.status);
    return binding?.status?.phase;
  });
  // kcp decides by any binding of the export, another each time, so that what the runtime asks is refused now and then.
  await orders.change('mine', '2');
  const before = stage.steps.length;
  await eventually('the runtime has looked at it', () => stage.steps.length > before + 1);
  expect(await installedFoo(workspace)).toMatch(/[12]/);
  expect((await orders.read('mine'))?.metadata.deletionTimestamp).toBeUndefined();
  for (const name of ['aaa', 'zzz']) await workspace.client.delete(API_BINDINGS, name);
  await orders.untilReady('mine');
  expect(await installedFoo(workspace)).toBe('2');
  await orders.change('mine', '3');
  await orders.untilReady('mine');
  await orders.remove('mine');
  await orders.untilGone('mine');
  expect(await tenants.madeIn(workspace)).toEqual([]);
});

test('an endpoint slice of another name leads to the tenants as well', async () => {
  const annotations = { 'apiexports.apis.kcp.io/skip-endpointslice': 'true' };
  await services.mergePatch<ApiExport>(API_EXPORTS, NAME, { metadata: { annotations } });
  await services.create(API_EXPORT_ENDPOINT_SLICES, {
    metadata: { name: 'of-the-operator' },
    spec: { export: { name: NAME, path: stage.landscape.services.path } },
  } as KubeObject);
  await services.delete(API_EXPORT_ENDPOINT_SLICES, NAME);
  const workspace = await tenants.bound('elsewhere');
  await tenants.orders(workspace).create('mine', '1');
  await tenants.orders(workspace).untilReady('mine');
  expect(await services.get(API_EXPORT_ENDPOINT_SLICES, NAME)).toBeUndefined();
});
