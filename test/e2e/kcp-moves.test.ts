import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { RunningRuntime } from '../../deploy/command/compose.ts';
import foo from '../../functions/providers/foo/provider.ts';
import { KcpTenants } from '../support/kcp-tenants.ts';
import type { Orders } from '../support/orders.ts';
import { configConditions, configureKcp, offerIn, untilConfigSays } from '../support/own-kcp.ts';
import { installedFoo } from '../support/requests.ts';
import { createStage, type Stage } from '../support/stage.ts';
import { eventually } from '../support/wait.ts';
import { createWorkspace, type TenantWorkspace } from '../support/workspaces.ts';

let stage: Stage;
let tenants: KcpTenants;
let runtime: RunningRuntime | undefined;

beforeAll(async () => {
  stage = await createStage({ provider: foo });
  tenants = new KcpTenants(stage);
});

afterEach(async () => {
  await runtime?.stop();
  runtime = undefined;
});

afterAll(() => stage?.stop());

const id = Date.now().toString(36);
const unique = (name: string): string => `${name}-${id}`;
const start = async (): Promise<void> => void (runtime = await stage.run());
const problems = (): string => runtime?.ready().join('; ') ?? '';
const conditions = (): Promise<string[]> => configConditions(stage.landscape, foo);
const orders = (tenant: TenantWorkspace): Orders => tenants.orders(tenant);
const admin = () => stage.landscape.kcp.admin;
const condition = (wanted: string): Promise<true> => untilConfigSays(stage.landscape, foo, wanted);

/** The service in a workspace of its own, and a tenant who has not bound it yet. */
async function offered(name: string): Promise<{ services: TenantWorkspace; tenant: TenantWorkspace }> {
  const services = await offerIn(stage.landscape.kcp, stage.landscape, foo, unique(name));
  return { services, tenant: await createWorkspace(admin(), 'root', unique(`t-${name}`)) };
}

describe('kcp settings at run time', () => {
  const settings = (name: string) => ({ providerWorkspace: `root:${unique(name)}`, secret: unique(name) });
  const remove = async (tenant: TenantWorkspace): Promise<void> => {
    await orders(tenant).remove('mine');
    await orders(tenant).untilGone('mine');
    expect(await tenants.madeIn(tenant)).toEqual([]);
  };

  test('starts, moves to another workspace once nothing is served in the first, and stops; standard mode never stops', async () => {
    const [one, two] = [await offered('one'), await offered('two')];
    const [first, second] = [one.tenant, two.tenant];
    await stage.landscape.createControlPlane('project-a', 'standard');
    await configureKcp(stage.landscape, foo, undefined);
    await start();
    await stage.orders.create('standard', '1');
    await stage.orders.untilReady('standard');
    await eventually('there are no conditions', async () => (await conditions()).length === 0);

    await configureKcp(stage.landscape, foo, settings('one'));
    await condition('EndpointsReady=False/NoBindings');
    await tenants.bind(first, {}, one.services);
    await orders(first).create('mine', '1');
    await orders(first).untilReady('mine');
    await eventually('the workspace is counted', async () => (await runtime?.stats())?.bridge?.boundWorkspaces === 1);

    await configureKcp(stage.landscape, foo, settings('two'));
    await condition('Provisioned=False/Held');
    await orders(first).change('mine', 'seen');
    await orders(first).untilReady('mine');
    expect(await installedFoo(first)).toBe('seen');
    await remove(first);
    await condition('Provisioned=True/Provisioned');
    await tenants.bind(second, {}, two.services);
    await orders(second).create('mine', '2');
    await orders(second).untilReady('mine');

    await configureKcp(stage.landscape, foo, undefined);
    await condition('Provisioned=False/Held');
    await stage.orders.change('standard', '2');
    await stage.orders.untilReady('standard');
    await remove(second);
    await eventually('its conditions go', async () => (await conditions()).length === 0);
    await orders(second).create('mine', 'unseen');
    await stage.idle();
    expect((await orders(second).read('mine'))?.status).toBeUndefined();
    expect(problems()).toBe('');

    await configureKcp(stage.landscape, foo, settings('one'));
    await orders(first).create('mine', '3');
    await orders(first).untilReady('mine');
    await stage.orders.change('standard', '3');
    await stage.orders.untilReady('standard');
  });

  test('changed while nothing runs: what is served is still known, removed by what was in force, and then it moves', async () => {
    const first = await createWorkspace(admin(), 'root', unique('t-one'));
    await configureKcp(stage.landscape, foo, settings('two'));
    await start();
    await condition('Provisioned=False/Held');
    expect((await orders(first).read('mine'))?.status?.phase).toBe('Ready');
    await remove(first);
    // What was ordered there meanwhile has its turn.
    const second = await createWorkspace(admin(), 'root', unique('t-two'));
    await orders(second).untilReady('mine');
    expect(await installedFoo(second)).toBe('unseen');
    await configureKcp(stage.landscape, foo, settings('one'));
    await condition('Provisioned=False/Held');
    await remove(second);
    await condition('Provisioned=True/Provisioned');
  });
});
