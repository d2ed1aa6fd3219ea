import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ApiExport } from '../../bridge/kcp/decide-provision.ts';
import { DEFAULT_UPKEEP } from '../../bridge/tuning.ts';
import foo from '../../functions/providers/foo/provider.ts';
import { isForbidden } from '../../shared/kube/api-error.ts';
import { clientFor } from '../../shared/kube/connect.ts';
import type { HttpKubeClient } from '../../shared/kube/client.ts';
import {
  API_BINDINGS,
  API_EXPORTS,
  CLUSTER_ROLE_BINDINGS,
  CLUSTER_ROLES,
  NAMESPACES,
  SERVICE_ACCOUNTS,
} from '../../shared/kube/resources.ts';
import type { KubeObject, KubeObjectOf, ServiceObject } from '../../shared/model/kubernetes.ts';
import { conditionOf } from '../../shared/status.ts';
import { RULES } from '../support/kcp-identity.ts';
import { KcpTenants } from '../support/kcp-tenants.ts';
import { configConditions, untilConfigSays } from '../support/own-kcp.ts';
import { createStage, QUICK, type Stage } from '../support/stage.ts';
import { eventually } from '../support/wait.ts';
import type { TenantWorkspace } from '../support/workspaces.ts';

const FOOS = foo.api.type;
const NAME = foo.kcp?.exportName ?? '';
const RBAC = 'rbac.authorization.k8s.io';
const TENANTS_ROLE = 'service-provider-foo-tenants';

let stage: Stage;
let tenants: KcpTenants;
let services: HttpKubeClient;

beforeAll(async () => {
  stage = await createStage({ provider: foo, kcp: true });
  tenants = new KcpTenants(stage);
  services = stage.landscape.services.client;
  await grantRights('least');
  await stage.run({ bridgeTuning: { ...QUICK.bridgeTuning, upkeep: { ...DEFAULT_UPKEEP, upkeepMs: 500 } } });
});

afterAll(() => stage?.stop());

const says = (wanted: string) => untilConfigSays(stage.landscape, foo, wanted);
const spec = async () => (await services.get<ApiExport>(API_EXPORTS, NAME))?.spec;

/** Of what `deploy/kcp` gives, all but what the README says can be left out, or all. */
async function grantRights(which: 'least' | 'all'): Promise<void> {
  const least = RULES.filter(({ apiGroups = ['apis.kcp.io'] }) => apiGroups[0] === 'apis.kcp.io');
  const rules = which === 'all' ? RULES : least;
  await services.apply(CLUSTER_ROLES, { metadata: { name: 'service-provider' }, rules } as KubeObject);
}

const lie = { status: { phase: 'Ready', conditions: [] } };
const writeStatus = (client: HttpKubeClient, name = 'mine'): Promise<ServiceObject> =>
  client.mergePatch<ServiceObject>(FOOS, name, lie, { namespace: 'default', subresource: 'status' });
const refusedStatus = (client: HttpKubeClient) =>
  writeStatus(client).then(
    () => false,
    (error: unknown) => isForbidden(error),
  );

/** Somebody else than the administrator of all: cluster-admin of that workspace, such as a tool that delivers from git. */
async function adminOf(workspace: TenantWorkspace): Promise<HttpKubeClient> {
  const metadata = { name: 'deliverer' };
  const subjects = [{ kind: 'ServiceAccount', name: 'deliverer', namespace: 'default' }];
  const roleRef = { apiGroup: RBAC, kind: 'ClusterRole', name: 'cluster-admin' };
  await workspace.client.apply(SERVICE_ACCOUNTS, { metadata: { ...metadata, namespace: 'default' } });
  await workspace.client.apply(CLUSTER_ROLE_BINDINGS, { metadata, subjects, roleRef } as KubeObject);
  const { status } = await workspace.client.post<{ status: { token: string } }>(
    '/api/v1/namespaces/default/serviceaccounts/deliverer/token',
    { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} },
  );
  const { ca } = stage.landscape.kcp.adminCredentials;
  const client = clientFor({ server: workspace.client.server, ca, token: status.token });
  await eventually('the tenant may list', () => client.list(FOOS).then(() => true));
  return client;
}

describe('the status of objects', () => {
  let workspace: TenantWorkspace;
  let tenant: HttpKubeClient;

  test('is open to tenants while the runtime lacks the rights to close it, and that is said', async () => {
    await says('StatusProtected=False/Open');
    expect(await spec()).not.toHaveProperty('maximalPermissionPolicy');
    workspace = await tenants.bound('tenant');
    tenant = await adminOf(workspace);
    await tenants.orders(workspace).create('mine', 'x');
    await tenants.orders(workspace).untilReady('mine');
    expect(await refusedStatus(tenant)).toBe(false);
  });

  test('is closed as soon as it has them, and a tenant can do everything else', async () => {
    await grantRights('all');
    await says('StatusProtected=True/Protected');
    await eventually('the status is refused', () => refusedStatus(tenant));
    const orders = tenants.orders({ ...workspace, client: tenant });
    await orders.change('mine', 'y');
    await orders.untilReady('mine');
    await tenant.mergePatch(FOOS, 'mine', { metadata: { labels: { a: 'b' } } }, { namespace: 'default' });
    const object = await tenant.get<ServiceObject>(FOOS, 'mine', 'default');
    expect(object?.status?.phase).toBe('Ready');
    const finalizers = [...(object?.metadata.finalizers ?? []), 'tenant.example.org/holds'];
    await tenant.mergePatch(FOOS, 'mine', { metadata: { finalizers } }, { namespace: 'default' });
    await tenant.apply<KubeObjectOf<{ spec: object }>>(FOOS, {
      metadata: { name: 'applied', namespace: 'default' },
      spec: { foo: 'z' },
    });
    await orders.untilReason('applied', 'Rejected');
    await orders.remove('applied');
    await orders.untilGone('applied');
    await orders.remove('mine');
    const others = finalizers.filter((each) => each !== foo.finalizer);
    await orders.until('mine', 'held by the tenant alone', ({ metadata }) => metadata.finalizers?.length === 1);
    await tenant.mergePatch(FOOS, 'mine', { metadata: { finalizers: others.slice(1) } }, { namespace: 'default' });
    await orders.untilGone('mine');
  });

  test('is closed in namespaces and workspaces that go as well: they go', async () => {
    await workspace.client.create(NAMESPACES, { metadata: { name: 'team' } });
    await tenants.orders(workspace, 'team').create('mine', 'x');
    await tenants.orders(workspace, 'team').untilReady('mine');
    await tenant.delete(NAMESPACES, 'team');
    await tenants.orders(workspace, 'team').untilGone('mine');
    await tenants.orders(workspace).create('mine', 'x');
    await tenants.orders(workspace).untilReady('mine');
    await tenant.delete(API_BINDINGS, tenants.exportName);
    await tenants.untilPlatformIsClean(workspace);
    await eventually('the binding is gone', async () => !(await tenant.get(API_BINDINGS, tenants.exportName)));
    expect(await tenants.madeIn(workspace)).toEqual([]);
  });

  test("stays closed when somebody removes tenants' rights, which come back", async () => {
    const bound = await tenants.bound('second');
    const admin = await adminOf(bound);
    await services.delete(CLUSTER_ROLES, TENANTS_ROLE);
    await eventually('the rights are back', () => services.get(CLUSTER_ROLES, TENANTS_ROLE));
    const orders = tenants.orders({ ...bound, client: admin });
    await orders.create('mine', 'x');
    await orders.untilReady('mine');
    await eventually('the status is refused', () => refusedStatus(admin));
    expect(await spec()).toHaveProperty('maximalPermissionPolicy');
  });
});

describe('our export, edited by somebody', () => {
  const edit = (change: (found: NonNullable<ApiExport['spec']>) => object) =>
    eventually('it is edited', async () => {
      const found = await services.get<ApiExport>(API_EXPORTS, NAME);
      return services.mergePatch(API_EXPORTS, NAME, { spec: change(found?.spec ?? {}) });
    });

  test.each<[string, (found: NonNullable<ApiExport['spec']>) => object]>([
    ['a claim is gone', ({ permissionClaims = [] }) => ({ permissionClaims: permissionClaims.slice(1) })],
    [
      'a claim has other verbs',
      ({ permissionClaims = [] }) => ({
        permissionClaims: permissionClaims.map((each) => ({ ...each, verbs: ['get'] })),
      }),
    ],
    ['all claims are gone', () => ({ permissionClaims: null })],
    ['our type is gone', () => ({ resources: null })],
    ['the policy is gone', () => ({ maximalPermissionPolicy: null })],
  ])('%s: it is put right', async (_what, change) => {
    const before = await spec();
    await edit(change);
    await eventually('it is as before', async (seen) => {
      const now = await spec();
      seen(now);
      expect(new Set(now?.permissionClaims?.map((each) => JSON.stringify(each)))).toEqual(
        new Set(before?.permissionClaims?.map((each) => JSON.stringify(each))),
      );
      expect(now?.resources).toEqual(before?.resources);
      expect(now?.maximalPermissionPolicy).toEqual(before?.maximalPermissionPolicy);
      return true;
    });
    await says('Provisioned=True/Provisioned');
  });

  test('by a claim that is gone: no tenant is blamed, and objects are served again by themselves', async () => {
    const workspace = await tenants.bound('blameless');
    await tenants.orders(workspace).create('mine', 'x');
    await tenants.orders(workspace).untilReady('mine');
    const reasons = new Set<string | undefined>();
    await edit(() => ({ permissionClaims: null }));
    await eventually('it is served again', async () => {
      await tenants.orders(workspace).change('mine', `${Math.random()}`);
      const object = await tenants.orders(workspace).read('mine');
      reasons.add(object && conditionOf(object, 'Ready')?.reason);
      return (await spec())?.permissionClaims !== undefined;
    });
    await tenants.orders(workspace).untilReady('mine');
    expect([...reasons]).not.toContain('PermissionClaimNotAccepted');
  });

  test('again and again: it is not fought for ever, the ProviderConfig names it, and it heals when that ends', async () => {
    let edits = 0;
    const rival = new AbortController();
    const fight = (async () => {
      while (!rival.signal.aborted) {
        const found = await services.get<ApiExport>(API_EXPORTS, NAME);
        if ((found?.spec?.permissionClaims?.length ?? 0) > 1) {
          await services
            .mergePatch(API_EXPORTS, NAME, { spec: { permissionClaims: found?.spec?.permissionClaims?.slice(0, 1) } })
            .then(
              () => edits++,
              () => undefined,
            );
        }
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    })();
    await says('Provisioned=False/Contested');
    rival.abort();
    await fight;
    expect(edits).toBeLessThan(10);
    await says('Provisioned=True/Provisioned');
    expect(await configConditions(stage.landscape, foo)).toContain('StatusProtected=True/Protected');
  });
});
