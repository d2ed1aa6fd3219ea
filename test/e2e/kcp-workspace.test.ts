import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { RunningRuntime } from '../../deploy/command/compose.ts';
import type { Provider } from '../../shared/provider/provider.ts';
import foo, { configMapName } from '../../functions/providers/foo/provider.ts';
import type { HttpKubeClient } from '../../shared/kube/client.ts';
import {
  API_BINDINGS,
  CLUSTER_ROLES,
  CONFIG_MAPS,
  NAMESPACES,
  SECRETS,
  SERVICE_ACCOUNTS,
} from '../../shared/kube/resources.ts';
import { conditionOf } from '../../shared/status.ts';
import { allowed, refused } from '../support/calls.ts';
import { KcpTenants } from '../support/kcp-tenants.ts';
import { configMapValue, installedFoo } from '../support/requests.ts';
import { createStage, type Stage } from '../support/stage.ts';
import { eventually } from '../support/wait.ts';
import { createWorkspace, deleteWorkspace, type TenantWorkspace } from '../support/workspaces.ts';

const FOOS = foo.api.type;
const REVIEW = '/apis/authentication.k8s.io/v1/selfsubjectreviews';
const SELF = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' };

/** Whether each workspace was there still when the provider's part was removed. */
const mcpGone = new Map<string, boolean>();
const watched: Provider = {
  ...foo,
  delete(ctx, object) {
    mcpGone.set(ctx.identity, ctx.mcpGone);
    return foo.delete(ctx, object);
  },
};

let stage: Stage;
let tenants: KcpTenants;
let runtime: RunningRuntime;

beforeAll(async () => {
  stage = await createStage({ provider: watched, kcp: true });
  tenants = new KcpTenants(stage);
  runtime = await stage.run();
});

afterAll(() => stage?.stop());

describe('a workspace three levels below the tenants', () => {
  let workspace: TenantWorkspace;
  let other: TenantWorkspace;
  let access: HttpKubeClient;
  const config = () => configMapName(workspace.logicalCluster);

  test('binds, orders and is served', async () => {
    const { landscape } = stage;
    const top = await landscape.createTenantWorkspace('top');
    const middle = await createWorkspace(landscape.kcp.admin, top.path, 'middle');
    workspace = await createWorkspace(landscape.kcp.admin, middle.path, 'bottom');
    other = await tenants.bound('other');
    await tenants.bind(workspace);
    await tenants.orders(workspace).create('mine', 'one');
    await tenants.orders(workspace).untilReady('mine');
    expect(await installedFoo(workspace)).toBe('one');
    expect(await configMapValue(await tenants.workloadCluster(workspace, 'mine'), `${config()}-wl`)).toBe('one');
  });

  test("the workload's kubeconfig may do what the provider declares, there, and nothing else", async () => {
    access = await tenants.accessOf(workspace);
    const object = { metadata: { name: 'by-workload', namespace: 'default' }, data: { a: 'b' } };
    await allowed(() => access.list(CONFIG_MAPS));
    await access.create(CONFIG_MAPS, object);
    await access.mergePatch(CONFIG_MAPS, 'by-workload', { data: { a: 'c' } }, { namespace: 'default' });
    expect(await access.get(CONFIG_MAPS, 'by-workload', 'default')).toMatchObject({ data: { a: 'c' } });
    await access.delete(CONFIG_MAPS, 'by-workload', { namespace: 'default' });

    for (const type of [SECRETS, NAMESPACES, SERVICE_ACCOUNTS, CLUSTER_ROLES, FOOS])
      expect(await refused(() => access.list(type)), `list ${type.plural}`).toBe(true);
    expect(await refused(() => access.create(SECRETS, object))).toBe(true);
    expect(await refused(() => access.delete(FOOS, 'mine', { namespace: 'default' }))).toBe(true);
    const token = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} };
    const tokenOf = (account: string) =>
      access.post(`/api/v1/namespaces/default/serviceaccounts/${account}/token`, token);
    expect(await refused(() => tokenOf('default'))).toBe(true);
    expect(await refused(() => access.at(other.client.server).list(CONFIG_MAPS))).toBe(true);
    expect(await refused(() => access.at(stage.landscape.services.client.server).list(CONFIG_MAPS))).toBe(true);
  });

  test('a change is followed, and the ground is quiet afterwards', async () => {
    await tenants.orders(workspace).change('mine', 'two');
    await tenants.orders(workspace).untilReady('mine');
    expect(await installedFoo(workspace)).toBe('two');
    await stage.idle();
    expect(await allowed(() => access.list(CONFIG_MAPS))).toBe(true);
  });

  test('what was given stops working with the deletion', async () => {
    const workload = await tenants.workloadCluster(workspace, 'mine');
    await tenants.orders(workspace).remove('mine');
    await tenants.orders(workspace).untilGone('mine');
    expect(await installedFoo(workspace)).toBeUndefined();
    expect(await configMapValue(workload, `${config()}-wl`)).toBeUndefined();
    expect(await tenants.madeIn(workspace)).toEqual([]);
    await tenants.untilPlatformIsClean(workspace);
    await eventually('the kubeconfig is worth nothing', () => refused(() => access.list(CONFIG_MAPS)));
    await eventually('not even its identity is known', () => refused(() => access.post(REVIEW, SELF)));
  });
});

describe('the ground disappears under an installed object', () => {
  const install = async (name: string, namespace = 'default') => {
    const workspace = await tenants.bound(name);
    if (namespace !== 'default') await workspace.client.create(NAMESPACES, { metadata: { name: namespace } });
    await tenants.orders(workspace, namespace).create('mine', name);
    const object = await tenants.orders(workspace, namespace).untilReady('mine');
    const workload = await tenants.workloadCluster(workspace, 'mine');
    const config = configMapName(workspace.logicalCluster);
    expect(await configMapValue(workload, `${config}-wl`)).toBe(name);
    return { workspace, object, workload, config };
  };
  const untilClean = async ({ workspace, workload, config }: Awaited<ReturnType<typeof install>>) => {
    await eventually(
      'the workload is gone',
      async () => (await configMapValue(workload, `${config}-wl`)) === undefined,
    );
    await tenants.untilPlatformIsClean(workspace);
  };

  test('unbinding removes everything, also from the workspace, and binding again serves anew', async () => {
    const installed = await install('unbinding');
    const { workspace } = installed;
    await tenants.unbind(workspace);
    await untilClean(installed);
    await eventually('the binding is gone', async () => {
      const bindings = await workspace.client.list(API_BINDINGS);
      return !bindings.items.some(({ metadata }) => metadata.name === tenants.exportName);
    });
    expect(await installedFoo(workspace)).toBeUndefined();
    expect(await tenants.madeIn(workspace)).toEqual([]);
    expect(mcpGone.get(workspace.logicalCluster)).toBe(false);

    await tenants.bind(workspace);
    await tenants.orders(workspace).create('mine', 'again');
    await tenants.orders(workspace).untilReady('mine');
    expect(await installedFoo(workspace)).toBe('again');
  });

  test("deleting the object's namespace removes everything, and the namespace goes", async () => {
    const installed = await install('emptying', 'team-a');
    const { workspace } = installed;
    await workspace.client.delete(NAMESPACES, 'team-a');
    await untilClean(installed);
    await eventually(
      'the namespace is gone',
      async () => (await workspace.client.get(NAMESPACES, 'team-a')) === undefined,
    );
    expect(await installedFoo(workspace)).toBeUndefined();
    expect(await tenants.madeIn(workspace)).toEqual([]);
  });

  test('deleting the workspace removes everything elsewhere, and the workspace goes', async () => {
    const installed = await install('doomed');
    await deleteWorkspace(installed.workspace, { wait: true });
    await untilClean(installed);
    expect(await stage.timer(tenants.keyOf(installed.workspace, installed.object))).toBeUndefined();
  });

  test('deleting it while nobody works: its accounts go first, and then all the same', async () => {
    const installed = await install('unattended');
    const { workspace } = installed;
    const first = await tenants.accessOf(workspace);
    await runtime.stop();
    const deletion = deleteWorkspace(workspace);
    // Long enough that its ServiceAccount is gone and its token is worth nothing.
    await eventually('the token is rejected', () => refused(() => first.post(REVIEW, SELF)));
    await deletion;
    expect(await tenants.secretOf(workspace)).toBeDefined();
    runtime = await stage.run();
    await untilClean(installed);
    await eventually('the workspace is gone', () => refused(() => workspace.client.list(CONFIG_MAPS)));
    expect(mcpGone.get(workspace.logicalCluster)).toBe(true);
    await stage.idle();
    expect(await stage.timer(tenants.keyOf(workspace, installed.object))).toBeUndefined();
  });

  test('an object that lost our finalizer gets it back', async () => {
    const { workspace } = await install('tampered');
    await workspace.client.mergePatch(FOOS, 'mine', { metadata: { finalizers: null } }, { namespace: 'default' });
    await tenants
      .orders(workspace)
      .until('mine', 'held again', (object) => object.metadata.finalizers?.[0] === foo.finalizer);
    const object = await tenants.orders(workspace).untilReady('mine');
    expect(conditionOf(object, 'Ready')).toMatchObject({ status: 'True' });
  });
});
