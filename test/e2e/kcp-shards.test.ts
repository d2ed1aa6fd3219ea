import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { DEFAULT_WATCH_TUNING } from '../../bridge/tuning.ts';
import type { RunningRuntime } from '../../deploy/command/compose.ts';
import foo, { configMapName } from '../../functions/providers/foo/provider.ts';
import { formatKubeconfig } from '../../shared/kube/kubeconfig.ts';
import {
  CLUSTER_REQUESTS,
  CLUSTER_ROLE_BINDINGS,
  CLUSTER_ROLES,
  CONFIG_MAPS,
  NAMESPACES,
  WORKSPACES,
} from '../../shared/kube/resources.ts';
import { workspaceUrl } from '../../shared/kube/workspace-url.ts';
import type { KubeObject } from '../../shared/model/kubernetes.ts';
import { freePort } from '../control-planes/ports.ts';
import { startTwoShards, type TwoShards } from '../control-planes/two-shards.ts';
import { endpointUrls } from '../support/bindings.ts';
import { RULES } from '../support/kcp-identity.ts';
import { KcpTenants } from '../support/kcp-tenants.ts';
import type { Workspace } from '../support/openmcp.ts';
import { configureKcp, writeKcpSecret } from '../support/own-kcp.ts';
import { installedFoo } from '../support/requests.ts';
import { createStage, QUICK, type Stage } from '../support/stage.ts';
import { eventually } from '../support/wait.ts';
import { createWorkspace, type TenantWorkspace } from '../support/workspaces.ts';

const IDENTITY = 'service-provider-foo';
/** So soon is a shard that does not answer taken for what it is. */
const WATCH = { ...DEFAULT_WATCH_TUNING, silenceLimitMs: 75_000, backoffLimitMs: 2_000 };

/** Longer than a client waits for a connection. */
const FROZEN_MS = 15_000;

let stage: Stage;
let tenants: KcpTenants;
let shards: TwoShards;
let services: TenantWorkspace;
let onRoot: TenantWorkspace;
let onSecond: TenantWorkspace;
let runtime: RunningRuntime;

const urls = (): Promise<string[]> => endpointUrls(services.client, tenants.exportName);
const untilUrls = (count: number) =>
  eventually(`${count} addresses`, async (seen) => {
    const all = await urls();
    seen(all);
    return all.length === count;
  });

beforeAll(async () => {
  stage = await createStage({ provider: foo });
  tenants = new KcpTenants(stage);
  shards = await startTwoShards({ dir: join(stage.landscape.dir, 'shards'), port: await freePortRange() });
  services = await workspaceOn('root', 'services');
  // A ServiceAccount's token works on its own shard alone; a certificate on all.
  await allow(services);
  const credentials = shards.identity(IDENTITY);
  await writeKcpSecret(
    stage.landscape,
    'shards',
    formatKubeconfig({ ...credentials, server: workspaceUrl(shards.server, 'root') }),
  );
  await configureKcp(stage.landscape, foo, { providerWorkspace: services.path, secret: 'shards' });
  runtime = await stage.run({ bridgeTuning: { ...QUICK.bridgeTuning, watch: WATCH } });
  onRoot = await workspaceOn('root', 'tenant-root');
  onSecond = await workspaceOn('shard-2', 'tenant-second');
}, 420_000);

afterAll(async () => {
  shards?.signal('shard-2', 'SIGCONT');
  await stage?.stop();
  await shards?.stop();
});

/** The script counts up from the first. */
async function freePortRange(): Promise<number> {
  return 7_000 + ((await freePort()) % 1_500) * 16;
}

async function workspaceOn(shard: string, name: string): Promise<TenantWorkspace> {
  const root = shards.admin.at(workspaceUrl(shards.server, 'root'));
  await eventually('the workspace can be created', async () => {
    await root.create<Workspace>(WORKSPACES, {
      metadata: { name },
      spec: {
        type: { name: 'universal', path: 'root' },
        location: { selector: { matchLabels: { name: shard } } },
      },
    } as Workspace);
    return true;
  });
  return createWorkspace(shards.admin, 'root', name);
}

async function allow({ client }: TenantWorkspace): Promise<void> {
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: IDENTITY };
  const subjects = [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: IDENTITY }];
  await client.apply(CLUSTER_ROLES, { metadata: { name: IDENTITY }, rules: RULES } as KubeObject);
  await client.apply(CLUSTER_ROLE_BINDINGS, { metadata: { name: IDENTITY }, roleRef, subjects } as KubeObject);
}

test("a shard's address appears with its first binding, and objects of both are served", async () => {
  expect(await urls()).toEqual([]);
  await tenants.bind(onRoot, {}, services);
  await untilUrls(1);
  await tenants.orders(onRoot).create('mine', 'root');
  await tenants.orders(onRoot).untilReady('mine');

  await tenants.bind(onSecond, {}, services);
  await untilUrls(2);
  await tenants.orders(onSecond).create('mine', 'second');
  await tenants.orders(onSecond).untilReady('mine');
  expect([await installedFoo(onRoot), await installedFoo(onSecond)]).toEqual(['root', 'second']);
  await eventually('both are counted', async () => (await runtime.stats()).bridge?.boundWorkspaces === 2);
});

test("a shard that stands still leaves the other's objects undisturbed, and nothing is deleted", async () => {
  const platform = stage.landscape.platform.client;
  const namespace = tenants.namespaceOf(onSecond);
  const request = () => platform.get(CLUSTER_REQUESTS, 'foo--mine--wl', namespace);
  const before = await request();
  const since = stage.steps.length;
  shards.signal('shard-2', 'SIGSTOP');
  try {
    const until = Date.now() + FROZEN_MS;
    for (let change = 1; Date.now() < until; change++) {
      await tenants.orders(onRoot).change('mine', String(change));
      await tenants.orders(onRoot).untilReady('mine');
      expect(await installedFoo(onRoot)).toBe(String(change));
      await sleep(500);
    }
    // A process that starts now knows nothing of where its objects are.
    await runtime.stop();
    runtime = await stage.run({ bridgeTuning: { ...QUICK.bridgeTuning, watch: WATCH } });
    await tenants.orders(onRoot).change('mine', 'five');
    await tenants.orders(onRoot).untilReady('mine');
    expect(await urls()).toHaveLength(2);
    const touched = stage.steps.slice(since).filter(({ event }) => event.key.cluster === onSecond.logicalCluster);
    expect(touched.filter(({ functionName }) => /delete|teardown/.test(functionName))).toEqual([]);
    expect(await request()).toEqual(before);
    expect(await platform.get(NAMESPACES, namespace)).toBeDefined();
  } finally {
    shards.signal('shard-2', 'SIGCONT');
  }
  await tenants.orders(onSecond).change('mine', 'thawed');
  await tenants.orders(onSecond).untilReady('mine');
  expect(await installedFoo(onSecond)).toBe('thawed');
}, 300_000);

test("a shard's address leaves with its last binding, and the other goes on", async () => {
  await tenants.unbind(onSecond);
  await untilUrls(1);
  await tenants.untilPlatformIsClean(onSecond);
  expect(await installedFoo(onSecond)).toBeUndefined();
  await tenants.orders(onRoot).change('mine', 'six');
  await tenants.orders(onRoot).untilReady('mine');
  expect(await onRoot.client.get(CONFIG_MAPS, configMapName(onRoot.logicalCluster), 'default')).toMatchObject({
    data: { foo: 'six' },
  });
  await eventually('one is counted', async () => (await runtime.stats()).bridge?.boundWorkspaces === 1);
});
