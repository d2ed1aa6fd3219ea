import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ApiExport } from '../../bridge/kcp/decide-provision.ts';
import foo from '../../functions/providers/foo/provider.ts';
import type { HttpKubeClient } from '../../shared/kube/client.ts';
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

beforeAll(async () => {
  stage = await createStage({ provider: foo, kcp: true });
  tenants = new KcpTenants(stage);
  services = stage.landscape.services.client;
  await stage.run();
});

afterAll(() => stage?.stop());

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
  await orders.change('mine', '2');
  await orders.untilReady('mine');
  expect(await installedFoo(workspace)).toBe('2');
  for (const name of ['aaa', 'zzz']) await workspace.client.delete(API_BINDINGS, name);
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
