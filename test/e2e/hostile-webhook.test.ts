import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { CLUSTER_ROLES, CONFIG_MAPS } from '../../shared/kube/resources.ts';
import type { KubeObject, ResourceType } from '../../shared/model/kubernetes.ts';
import { conditionOf } from '../../shared/status.ts';
import { KcpTenants } from '../support/kcp-tenants.ts';
import { tools } from '../support/providers/tools.ts';
import { createStage, type Stage } from '../support/stage.ts';
import { eventually } from '../support/wait.ts';
import type { TenantWorkspace } from '../support/workspaces.ts';

/** Two requests that get no answer, at most. */
const LONGEST_MS = 22_000;

let stage: Stage;
let tenants: KcpTenants;

beforeAll(async () => {
  stage = await createStage({ provider: tools, kcp: true });
  tenants = new KcpTenants(stage);
  await stage.run({ workspaceTuning: { teardownPatienceMs: 15_000 } });
});

afterAll(() => stage?.stop());

const orders = (workspace: TenantWorkspace) => tenants.orders(workspace);

describe('an admission webhook of the tenant', () => {
  const WEBHOOKS: ResourceType = {
    group: 'admissionregistration.k8s.io',
    version: 'v1',
    kind: 'ValidatingWebhookConfiguration',
    plural: 'validatingwebhookconfigurations',
    namespaced: false,
  };
  let silent: Server;
  const sockets = new Set<Socket>();
  beforeAll(async () => {
    silent = createServer((socket) => sockets.add(socket.on('error', () => undefined)));
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
  });
  afterAll(() => {
    for (const socket of sockets) socket.destroy();
    silent.close();
  });

  const NAME = 'slow.example.org';
  /** It accepts connections, and says nothing. */
  const webhook = (operations: string[], group = '*', timeoutSeconds = 30) => ({
    metadata: { name: NAME },
    webhooks: [
      {
        name: NAME,
        clientConfig: { url: `https://127.0.0.1:${(silent.address() as AddressInfo).port}/` },
        rules: [{ apiGroups: [group], apiVersions: ['*'], operations, resources: ['*'] }],
        failurePolicy: 'Fail',
        sideEffects: 'None',
        admissionReviewVersions: ['v1'],
        timeoutSeconds,
      },
    ],
  });
  const LABEL = 'service-provider.open-control-plane.io/provider';
  /** Registers it, and waits until it is in the way of a new object or a new role. */
  async function register({ client }: TenantWorkspace, ...what: Parameters<typeof webhook>): Promise<void> {
    await client.create(WEBHOOKS, webhook(...what));
    const [operations, group] = what;
    const type = group === CLUSTER_ROLES.group ? CLUSTER_ROLES : CONFIG_MAPS;
    await eventually('the webhook is in the way', async () => {
      const name = `try-${Math.random()}`;
      const namespace = type.namespaced ? { namespace: 'default' } : {};
      try {
        await client.create<KubeObject>(type, { metadata: { name, ...namespace } });
        await client.delete(type, name, namespace);
        return false;
      } catch {
        return operations.length > 0;
      }
    });
  }
  const longest = (since: number): number =>
    Math.max(0, ...stage.steps.slice(since).map(({ durationMs }) => durationMs));

  const workedOn = (workspace: TenantWorkspace, since: number) =>
    eventually('the object of the slow workspace has been worked on', () =>
      stage.steps
        .slice(since)
        .some(({ event, outcome }) => event.key.cluster === workspace.logicalCluster && outcome.kind === 'failed'),
    );
  async function othersAreServed(name: string): Promise<void> {
    const other = await tenants.bound(name);
    await orders(other).create('mine', 'x');
    await orders(other).untilReady('mine');
    await orders(other).remove('mine');
    await orders(other).untilGone('mine');
  }

  test('that never answers holds up an order, and no worker for long; without it the order is served', async () => {
    const workspace = await tenants.bound('slow-order');
    await register(workspace, ['CREATE']);
    const since = stage.steps.length;
    // Our own type is the provider's matter: a webhook of the tenant does not see it.
    await orders(workspace).create('mine', 'x');
    await othersAreServed('beside-order');
    await workedOn(workspace, since);
    expect(longest(since)).toBeLessThan(LONGEST_MS);
    const object = await orders(workspace).untilReason('mine', 'AccessError');
    expect(conditionOf(object, 'Ready')?.message).toMatch(/timeout|too slowly/);
    await workspace.client.delete(WEBHOOKS, NAME);
    await orders(workspace).untilReady('mine');
  });

  test('that never answers holds up a deletion, and no worker for long; without it the object goes', async () => {
    const workspace = await tenants.bound('slow-deletion');
    await orders(workspace).create('mine', 'x');
    await orders(workspace).untilReady('mine');
    await register(workspace, ['CREATE', 'DELETE']);
    const since = stage.steps.length;
    await orders(workspace).remove('mine');
    await othersAreServed('beside-deletion');
    await workedOn(workspace, since);
    expect(longest(since)).toBeLessThan(LONGEST_MS);
    await workspace.client.delete(WEBHOOKS, NAME);
    await orders(workspace).untilGone('mine');
  });

  test('that does not let our rights go holds up a deletion for a while, and not for ever', async () => {
    const workspace = await tenants.bound('holding');
    await orders(workspace).create('mine', 'x');
    await orders(workspace).untilReady('mine');
    await register(workspace, ['CREATE', 'DELETE'], CLUSTER_ROLES.group, 1);
    await orders(workspace).remove('mine');
    await orders(workspace).untilGone('mine');
    await tenants.untilPlatformIsClean(workspace);
    const left = await workspace.client.list(CLUSTER_ROLES, { labelSelector: LABEL });
    expect(left.items.length).toBeGreaterThan(0);
  });
});
