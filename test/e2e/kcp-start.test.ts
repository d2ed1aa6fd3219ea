import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { DEFAULT_UPKEEP, DEFAULT_WATCH_TUNING } from '../../bridge/tuning.ts';
import { provisionExport } from '../../bridge/kcp/provision.ts';
import type { RunningRuntime } from '../../deploy/command/compose.ts';
import foo, { configMapName } from '../../functions/providers/foo/provider.ts';
import { OBJECT_CHANGED } from '../../shared/events/catalogue.ts';
import { createLogger } from '../../shared/log.ts';
import { API_EXPORT_ENDPOINT_SLICES, API_EXPORTS, CLUSTER_ROLES, CONFIG_MAPS } from '../../shared/kube/resources.ts';
import { formatKubeconfig } from '../../shared/kube/kubeconfig.ts';
import type { KubeObjectOf, ServiceObject } from '../../shared/model/kubernetes.ts';
import { conditionOf } from '../../shared/status.ts';
import { untilMadeAgain } from '../support/calls.ts';
import { createKcpIdentity } from '../support/kcp-identity.ts';
import { KcpTenants } from '../support/kcp-tenants.ts';
import type { Orders } from '../support/orders.ts';
import { configureKcp, offerIn, OwnKcp, untilConfigSays, writeKcpSecret } from '../support/own-kcp.ts';
import { installedFoo, requestsIn } from '../support/requests.ts';
import { createStage, QUICK, type Stage } from '../support/stage.ts';
import { eventually } from '../support/wait.ts';
import { createWorkspace, type TenantWorkspace } from '../support/workspaces.ts';

const BRIDGE = {
  ...QUICK.bridgeTuning,
  upkeep: { ...DEFAULT_UPKEEP, upkeepMs: 500 },
  watch: { ...DEFAULT_WATCH_TUNING, backoffLimitMs: 2_000 },
};

let stage: Stage;
let tenants: KcpTenants;
let own: OwnKcp;
let runtime: RunningRuntime | undefined;
const quiet = createLogger('error', 'test');

beforeAll(async () => {
  stage = await createStage({ provider: foo });
  tenants = new KcpTenants(stage);
  own = await OwnKcp.start(join(stage.landscape.dir, 'own-kcp'));
});

afterEach(async () => {
  await runtime?.stop();
  runtime = undefined;
});

afterAll(async () => {
  await stage?.stop();
  await own?.stop();
});

const start = async (): Promise<void> => void (runtime = await stage.run({ bridgeTuning: BRIDGE }));
const problems = (): string => runtime?.ready().join('; ') ?? '';
const orders = (tenant: TenantWorkspace): Orders => tenants.orders(tenant);
const admin = () => own.kcp.admin;
const condition = (wanted: string): Promise<true> => untilConfigSays(stage.landscape, foo, wanted);

/** The service in a workspace of its own, and a tenant who has not bound it yet. */
async function offered(name: string): Promise<{ services: TenantWorkspace; tenant: TenantWorkspace }> {
  const services = await offerIn(own.kcp, stage.landscape, foo, name);
  return { services, tenant: await createWorkspace(admin(), 'root', `t-${name}`) };
}

/** The settings of the next test are in force only when nothing is served by those of this one. */
async function remove(tenant: TenantWorkspace): Promise<void> {
  await orders(tenant).remove('mine');
  await orders(tenant).untilGone('mine');
}

describe('every order in which things come to be ends Ready, without a restart', () => {
  type What = 'kcp' | 'Secret' | 'workspace' | 'binding';

  test.each<[string, What[]]>([
    ['the Secret is there, then kcp, its workspace, a binding', ['Secret', 'kcp', 'workspace', 'binding']],
    ['kcp, the Secret, the workspace, a binding', ['kcp', 'Secret', 'workspace', 'binding']],
    ['kcp, the workspace, the Secret, a binding', ['kcp', 'workspace', 'Secret', 'binding']],
    ['all of an earlier life, and the Secret last', ['kcp', 'workspace', 'binding', 'Secret']],
  ])('%s', async (_name, order) => {
    const id = order.map((what) => what[0]?.toLowerCase()).join('');
    const kubeconfig = own.lastingIdentity();
    await own.stop();
    await configureKcp(stage.landscape, foo, { providerWorkspace: `root:services-${id}`, secret: `kcp-${id}` });
    await start();
    await eventually('it is not ready, and says why', () => problems().includes('kcp: '));

    let services: TenantWorkspace | undefined;
    let tenant: TenantWorkspace | undefined;
    for (const what of order) {
      if (what === 'kcp') await own.startAgain();
      if (what === 'Secret') await writeKcpSecret(stage.landscape, `kcp-${id}`, kubeconfig);
      if (what === 'workspace') {
        services = await createWorkspace(admin(), 'root', `services-${id}`);
        tenant = await createWorkspace(admin(), 'root', `tenant-${id}`);
        await own.admit(services.client);
        // Where the Secret comes last, the export is from the days of an earlier runtime.
        if (order.at(-1) === 'Secret') await provisionExport(services.client, foo, quiet);
      }
      if (what === 'binding' && tenant && services) await tenants.bind(tenant, {}, services);
      if (what !== 'binding' && order.indexOf('Secret') <= order.indexOf(what)) {
        if (!order.slice(0, order.indexOf(what) + 1).includes('kcp')) await condition('Provisioned=False/Unreachable');
        else if (!services) await condition('Provisioned=False/Refused');
      } else if (order.indexOf('Secret') > order.indexOf(what)) await condition('Provisioned=False/NotReady');
      expect(runtime?.ready).toBeDefined();
    }
    if (!tenant) throw new Error('no tenant');
    await orders(tenant).create('mine', id);
    await orders(tenant).untilReady('mine');
    expect(await installedFoo(tenant)).toBe(id);
    await condition('Provisioned=True/Provisioned');
    await condition('EndpointsReady=True/Bound');
    await eventually('it is ready', () => problems() === '');
    await remove(tenant);
  });
});

test('an export that somebody deletes is made again', async () => {
  const { services } = await offered('one');
  await start();
  await condition('Provisioned=True/Provisioned');
  type Export = KubeObjectOf<{ spec: { resources: unknown[]; permissionClaims: unknown[] } }>;
  const { before, after } = await untilMadeAgain<Export>(services.client, API_EXPORTS, tenants.exportName);
  // kcp adds an identity of its own to each, a moment later.
  const { resources, permissionClaims } = before?.spec ?? {};
  expect(resources).toHaveLength(1);
  expect(after).toMatchObject({ spec: { resources, permissionClaims } });
});

test('the right to read is taken away: nothing is deleted, nothing is concluded, and it goes on when it is back', async () => {
  const { services, tenant } = await offered('guarded');
  await start();
  await tenants.bind(tenant, {}, services);
  await orders(tenant).create('mine', '1');
  await orders(tenant).untilReady('mine');
  await stage.idle();

  const platform = stage.landscape.platform.client;
  const namespace = tenants.namespaceOf(tenant);
  const all = async () => ({
    object: (await orders(tenant).read('mine'))?.metadata.resourceVersion,
    installed: (await tenant.client.get(CONFIG_MAPS, configMapName(tenant.logicalCluster), 'default'))?.metadata,
    secret: (await tenants.secretOf(tenant))?.metadata.resourceVersion,
    requests: await requestsIn(platform, namespace, ''),
  });
  const before = await all();
  await runtime?.stop();
  const role = await services.client.get<KubeObjectOf<{ rules: { resources?: string[] }[] }>>(CLUSTER_ROLES, 'runtime');
  const rules = role?.rules ?? [];
  const without = rules.filter(({ resources }) => !resources?.includes('apiexports/content'));
  expect(without.length).toBe(rules.length - 1);
  await services.client.mergePatch(CLUSTER_ROLES, 'runtime', { rules: without });
  await start();
  await eventually('it says that it may not look', () => /403/.test(problems()));
  await orders(tenant).change('mine', '2');
  const failedSince = stage.steps.length;
  // Somebody asks for it to be looked at: that fails, and concludes nothing.
  const asked = await orders(tenant).read('mine');
  await stage.publish(OBJECT_CHANGED, tenants.keyOf(tenant, asked as ServiceObject));
  // Other objects of earlier tests may have their turn meanwhile.
  const looks = () => stage.steps.slice(failedSince).filter(({ event }) => event.key.cluster === tenant.logicalCluster);
  await eventually('it was looked at', () => looks().some(({ outcome }) => outcome.kind === 'failed'));
  const { object: _object, ...meanwhile } = await all();
  const { object: _before, ...expected } = before;
  expect(meanwhile).toEqual(expected);
  expect((await orders(tenant).read('mine'))?.metadata.deletionTimestamp).toBeUndefined();

  await services.client.mergePatch(CLUSTER_ROLES, 'runtime', { rules });
  await orders(tenant).untilReady('mine');
  expect(await installedFoo(tenant)).toBe('2');
  await eventually('it is ready', () => problems() === '');
  await remove(tenant);
});

test('kcp is not ready yet: no binding, a claim that comes late, an endpoint slice that goes', async () => {
  const { services, tenant } = await offered('early');
  await start();
  await condition('EndpointsReady=False/NoBindings');
  await eventually('it is ready all the same', () => problems() === '');

  await tenants.bind(tenant, { claims: ({ resource }) => resource !== 'serviceaccounts' }, services);
  await orders(tenant).create('mine', '1');
  const object = await orders(tenant).untilReason('mine', 'PermissionClaimNotAccepted');
  expect(conditionOf(object, 'Ready')?.message).toContain('serviceaccounts');
  await stage.idle();
  await tenants.answerClaims(tenant, () => 'Accepted');
  await orders(tenant).untilReady('mine');

  await untilMadeAgain(services.client, API_EXPORT_ENDPOINT_SLICES, tenants.exportName);
  await orders(tenant).change('mine', '2');
  await orders(tenant).untilReady('mine');
  expect(await installedFoo(tenant)).toBe('2');
  await remove(tenant);
});

test('a kubeconfig that names no authority it trusts is refused, and mended by a better one', async () => {
  const services = await createWorkspace(admin(), 'root', 'mended');
  await writeKcpSecret(stage.landscape, 'mended', '{"current-context": "nowhere"}');
  await configureKcp(stage.landscape, foo, { providerWorkspace: services.path, secret: 'mended' });
  await start();
  await condition('Provisioned=False/InvalidKubeconfig');
  const identity = await createKcpIdentity(services.client, own.kcp, 'runtime');
  await writeKcpSecret(stage.landscape, 'mended', identity);
  await condition('Provisioned=True/Provisioned');
  expect(formatKubeconfig(own.kcp.adminCredentials)).not.toBe(identity);
});
