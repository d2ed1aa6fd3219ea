import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { DEFAULT_WATCH_TUNING } from '../../bridge/tuning.ts';
import foo from '../../functions/providers/foo/provider.ts';
import { clientFor } from '../../shared/kube/connect.ts';
import { FrozenProxy } from '../support/frozen-proxy.ts';
import { KcpTenants } from '../support/kcp-tenants.ts';
import type { Orders } from '../support/orders.ts';
import { offerIn, OwnKcp } from '../support/own-kcp.ts';
import { installedFoo } from '../support/requests.ts';
import { createStage, QUICK, type Stage } from '../support/stage.ts';
import { createWorkspace, type TenantWorkspace } from '../support/workspaces.ts';

const OUTAGE_MS = Number(process.env['OUTAGE_MS'] ?? 20_000);

let stage: Stage;
let own: OwnKcp;
let onboarding: FrozenProxy;
let tenant: TenantWorkspace;
let kcpOrders: Orders;

/** Both modes in one process; the onboarding cluster and kcp are servers of their own, each of which can stand still. */
beforeAll(async () => {
  stage = await createStage({ provider: foo });
  const { landscape } = stage;
  const tenants = new KcpTenants(stage);
  own = await OwnKcp.start(join(landscape.dir, 'own-kcp'));
  const services = await offerIn(own.kcp, landscape, foo, 'services');
  tenant = await createWorkspace(own.kcp.admin, 'root', 'tenant');
  kcpOrders = tenants.orders(tenant);
  onboarding = await FrozenProxy.to(landscape.kcp.server);
  const server = landscape.onboarding.client.server.replace(/:\d+\//, `:${onboarding.port}/`);
  await stage.run({
    onboarding: clientFor({ ...landscape.kcp.adminCredentials, server }),
    bridgeTuning: {
      ...QUICK.bridgeTuning,
      watch: { ...DEFAULT_WATCH_TUNING, silenceLimitMs: 70_000, backoffLimitMs: 2_000 },
    },
  });
  await landscape.createControlPlane('project-a', 'mine');
  await tenants.bind(tenant, {}, services);
  await stage.orders.create('mine', '0');
  await kcpOrders.create('mine', '0');
  await stage.orders.untilReady('mine');
  await kcpOrders.untilReady('mine');
}, 300_000);

afterAll(async () => {
  own?.kcp.process.signal('SIGCONT');
  await stage?.stop();
  onboarding?.close();
  await own?.stop();
});

const changesUntil = async (orders: Orders, end: number): Promise<number> => {
  let changes = 0;
  do {
    await orders.change('mine', `during-${++changes}`);
    const object = await orders.untilReady('mine');
    expect(object.status?.['foo']).toBe(`during-${changes}`);
    await sleep(200);
  } while (Date.now() < end);
  return changes;
};

test('kcp stands still: orders on the onboarding cluster are worked on meanwhile, and those in kcp afterwards', async () => {
  own.kcp.process.signal('SIGSTOP');
  const changes = await changesUntil(stage.orders, Date.now() + OUTAGE_MS).finally(() =>
    own.kcp.process.signal('SIGCONT'),
  );
  console.info(`${changes} changes on the onboarding cluster were served while kcp stood still`);
  await kcpOrders.change('mine', 'afterwards');
  await kcpOrders.untilReady('mine');
  expect(await installedFoo(tenant)).toBe('afterwards');
}, 300_000);

test('the onboarding cluster stands still: orders in kcp are worked on meanwhile, and the others afterwards', async () => {
  onboarding.freeze();
  await stage.orders.change('mine', 'unseen');
  const changes = await changesUntil(kcpOrders, Date.now() + OUTAGE_MS);
  console.info(`${changes} changes in kcp were served while the onboarding cluster stood still`);
  expect((await stage.orders.read('mine'))?.status?.['foo']).not.toBe('unseen');
  onboarding.thaw();
  const object = await stage.orders.untilReady('mine');
  expect(object.status?.['foo']).toBe('unseen');
}, 300_000);
