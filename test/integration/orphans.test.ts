import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { orphansOf } from '../../functions/orphans/orphans.ts';
import type { PresencePorts } from '../../functions/orphans/presence.ts';
import foo from '../../functions/providers/foo/provider.ts';
import { orderOnboardingAccess } from '../../functions/access/onboarding.ts';
import type { HttpKubeClient } from '../../shared/kube/client.ts';
import {
  ACCESS_REQUESTS,
  API_BINDINGS,
  CLUSTER_REQUESTS,
  CLUSTER_ROLE_BINDINGS,
  NAMESPACES,
  SECRETS,
} from '../../shared/kube/resources.ts';
import { createLogger } from '../../shared/log.ts';
import type { AccessRequest } from '../../shared/model/access.ts';
import { mcpNamespace } from '../../shared/names.ts';
import { REQUEST_UID_LABEL } from '../support/cluster-provider/rights.ts';
import { KcpTenants } from '../support/kcp-tenants.ts';
import { orphanPorts } from '../support/orphan-ports.ts';
import { PROVIDER_NAMESPACE } from '../support/service.ts';
import { createStage, PROJECT, type Stage } from '../support/stage.ts';
import { eventually } from '../support/wait.ts';
import type { TenantWorkspace } from '../support/workspaces.ts';

const FOOS = foo.api.type;

let stage: Stage;
let platform: HttpKubeClient;
let tenants: KcpTenants;
let workspace: TenantWorkspace;
let ports: PresencePorts;

/** Somebody takes the finalizer away: the object goes without us. */
async function vanish(client: HttpKubeClient, name: string, namespace: string): Promise<void> {
  await client.delete(FOOS, name, { namespace });
  await client.mergePatch(FOOS, name, { metadata: { finalizers: [] } }, { namespace });
  await eventually(`${name} has vanished`, async () => (await client.get(FOOS, name, namespace)) === undefined);
}

beforeAll(async () => {
  stage = await createStage({ provider: foo, kcp: true });
  const { landscape } = stage;
  tenants = new KcpTenants(stage);
  platform = landscape.platform.client;
  const runtime = await stage.run();
  workspace = await tenants.bound('tenant');
  const inWorkspace = tenants.orders(workspace);
  await Promise.all(['gone', 'kept'].map((name) => landscape.createControlPlane(PROJECT, name)));
  await Promise.all([
    stage.orders.create('gone', 'x'),
    stage.orders.create('kept', 'x'),
    inWorkspace.create('mine', 'x'),
  ]);
  await Promise.all([stage.orders.untilReady('gone'), stage.orders.untilReady('kept'), inWorkspace.untilReady('mine')]);
  await stage.idle();
  await runtime.stop();

  const log = createLogger('error', foo.name, stage.logFile);
  const onboarding = orderOnboardingAccess(platform, foo, 'run', PROVIDER_NAMESPACE, log, AbortSignal.timeout(60_000));
  ports = orphanPorts(foo, stage, tenants, () => onboarding);
  await onboarding;
});

afterAll(() => stage?.stop());

async function look(remove: boolean): Promise<Record<string, string[]>> {
  const found: Record<string, string[]> = {};
  for await (const { owned, verdict, removal } of orphansOf(platform, foo, ports, remove)) {
    const what = `${owned.type.kind} ${owned.object.metadata.name}`;
    (found[removal ? `${verdict.verdict} ${removal.removed}` : verdict.verdict] ??= []).push(what);
  }
  return found;
}

const requests = (name: string) => [
  `AccessRequest foo--${name}--mcp`,
  `AccessRequest foo--${name}--wl`,
  `ClusterRequest foo--${name}--wl`,
];
const workspaceThings = () => [
  'AccessRequest foo--mine--wl',
  'ClusterRequest foo--mine--wl',
  `Namespace ${tenants.namespaceOf(workspace)}`,
  'Secret foo--workspace--mcp',
];
const sorted = (found: Record<string, string[]>) =>
  Object.fromEntries(Object.entries(found).map(([verdict, what]) => [verdict, what.sort()]));

describe('what the provider has for objects', () => {
  test('is in use while they exist', async () => {
    const inUse = [...requests('gone'), ...requests('kept'), ...workspaceThings()].sort();
    expect(sorted(await look(true))).toEqual({ 'in-use': inUse });
  });

  test('is never deleted while they cannot be read', async () => {
    await vanish(stage.landscape.onboarding.client, 'gone', PROJECT);
    const access = await platform.get<AccessRequest>(ACCESS_REQUESTS, 'foo--onboarding-run', PROVIDER_NAMESPACE);
    const bindings = await stage.landscape.onboarding.client.list(CLUSTER_ROLE_BINDINGS, {
      labelSelector: `${REQUEST_UID_LABEL}=${access?.metadata.uid}`,
    });
    expect(bindings.items.length).toBeGreaterThan(0);
    for (const { metadata } of bindings.items)
      await stage.landscape.onboarding.client.delete(CLUSTER_ROLE_BINDINGS, metadata.name);
    const onboarding = await ports.onboarding();
    await eventually('the right is gone', () =>
      onboarding.get(FOOS, 'kept', PROJECT).then(
        () => false,
        () => true,
      ),
    );

    const found = await look(true);
    expect(found['unknown']?.sort()).toEqual([...requests('gone'), ...requests('kept')].sort());
    expect(found['orphan true']).toBeUndefined();
    expect(await platform.get(ACCESS_REQUESTS, 'foo--gone--mcp', mcpNamespace('gone', PROJECT))).toBeDefined();
    // With the administrator's access in its place, the rest of the tests goes on.
    ports = { ...ports, onboarding: () => Promise.resolve(stage.landscape.onboarding.client) };
  });

  test('is an orphan once a read proves that they are gone, and deleted on demand alone', async () => {
    const orphans = requests('gone');
    expect(sorted(await look(false))['orphan']).toEqual(orphans);
    expect(sorted(await look(true))['orphan true']).toEqual(orphans);
    const namespace = mcpNamespace('gone', PROJECT);
    for (const type of [ACCESS_REQUESTS, CLUSTER_REQUESTS]) {
      const { items } = await platform.list(type, { namespace });
      // That of the control plane is none of ours.
      expect(items.map(({ metadata }) => metadata.name)).toEqual(type === CLUSTER_REQUESTS ? ['gone'] : []);
    }
    expect(sorted(await look(true))).toEqual({ 'in-use': [...requests('kept'), ...workspaceThings()].sort() });
  });

  test('of a workspace that does not bind the API any more is found by the list of bindings', async () => {
    await vanish(workspace.client, 'mine', 'default');
    const { items } = await workspace.client.list(API_BINDINGS);
    const binding = items.find(({ metadata }) => metadata.name.includes('foo')) ?? items[0];
    await workspace.client.delete(API_BINDINGS, binding?.metadata.name ?? '');
    const namespace = tenants.namespaceOf(workspace);
    // Another workspace keeps the endpoint alive; without any there is nothing that could prove an absence.
    await tenants.bound('other');
    const found = await eventually('the binding is gone', async (seen) => {
      const now = sorted(await look(false));
      seen(now);
      return now['orphan']?.length === workspaceThings().length && now;
    });
    expect((found || {})['orphan']).toEqual(workspaceThings().sort());
    expect(sorted(await look(true))['orphan true']).toEqual(workspaceThings().sort());
    expect(await platform.get(SECRETS, 'foo--workspace--mcp', namespace)).toBeUndefined();
    await eventually('its namespace goes', async () => (await platform.get(NAMESPACES, namespace)) === undefined);
  });
});
