import { afterAll, beforeAll, expect, test } from 'vitest';
import foo from '../../functions/providers/foo/provider.ts';
import { formatKubeconfig, parseKubeconfig } from '../../shared/kube/kubeconfig.ts';
import { API_EXPORTS } from '../../shared/kube/resources.ts';
import { CLAIMS_ANNOTATION } from '../../shared/names.ts';
import { KcpTenants } from '../support/kcp-tenants.ts';
import { OlderKcp } from '../support/older-kcp.ts';
import { configureKcp, untilConfigSays, writeKcpSecret } from '../support/own-kcp.ts';
import { installedFoo } from '../support/requests.ts';
import { createStage, type Stage } from '../support/stage.ts';

let stage: Stage;
let tenants: KcpTenants;
let older: OlderKcp;

beforeAll(async () => {
  stage = await createStage({ provider: foo });
  tenants = new KcpTenants(stage);
  const { landscape } = stage;
  const identity = parseKubeconfig(await landscape.runtimeKcpIdentity(), 'the runtime');
  older = await OlderKcp.before(landscape.kcp.server, identity.ca ?? '');
  const server = identity.server.replace(landscape.kcp.server, older.url);
  await writeKcpSecret(
    landscape,
    'older',
    formatKubeconfig({ ...identity, server, ca: `${older.ca}${identity.ca ?? ''}` }),
  );
  await configureKcp(landscape, foo, { providerWorkspace: landscape.services.path, secret: 'older' });
  // Workloads reach kcp by its own address.
  await stage.run({ kcpExternal: { url: landscape.kcp.server } });
});

afterAll(async () => {
  await stage?.stop();
  older?.close();
});

test('a kcp that only has v1alpha1 is provisioned and serves orders', async () => {
  const workspace = await tenants.bound('tenant');
  expect(older.hidden).toBeGreaterThan(0);
  const v1alpha1 = await stage.landscape.services.client.get(
    { ...API_EXPORTS, version: 'v1alpha1' },
    tenants.exportName,
  );
  const schema = foo.api.apiResourceSchema().metadata.name;
  expect(v1alpha1).toMatchObject({
    metadata: { annotations: { [CLAIMS_ANNOTATION]: expect.stringContaining('secrets') as string } },
    spec: { latestResourceSchemas: [schema] },
  });
  await tenants.orders(workspace).create('mine', 'x');
  await tenants.orders(workspace).untilReady('mine');
  expect(await installedFoo(workspace)).toBe('x');
  await untilConfigSays(stage.landscape, foo, 'EndpointsReady=True/Bound');
  await tenants.orders(workspace).remove('mine');
  await tenants.orders(workspace).untilGone('mine');
  await tenants.untilPlatformIsClean(workspace);
});

test('a second start finds all as it should be', async () => {
  const read = () => stage.landscape.services.client.get(API_EXPORTS, tenants.exportName);
  const before = await read();
  await stage.run({ kcpExternal: { url: stage.landscape.kcp.server } });
  await stage.idle();
  expect((await read())?.metadata.resourceVersion).toBe(before?.metadata.resourceVersion);
});
