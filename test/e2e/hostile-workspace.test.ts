import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  CLUSTER_ROLE_BINDINGS,
  CLUSTER_ROLES,
  CONFIG_MAPS,
  NAMESPACES,
  ROLE_BINDINGS,
  ROLES,
  SECRETS,
  SERVICE_ACCOUNTS,
} from '../../shared/kube/resources.ts';
import type { KubeObject, KubeObjectOf, ResourceType, ServiceObject } from '../../shared/model/kubernetes.ts';
import { conditionOf } from '../../shared/status.ts';
import { allowed } from '../support/calls.ts';
import { KcpTenants } from '../support/kcp-tenants.ts';
import { orphansIn } from '../support/orphan-ports.ts';
import { tools, TOOLS_NAMESPACE } from '../support/providers/tools.ts';
import { createStage, type Stage } from '../support/stage.ts';
import { eventually } from '../support/wait.ts';
import type { TenantWorkspace } from '../support/workspaces.ts';

/** Tenants are administrators of their workspace: all here is done by their own clients. */
const LABEL = 'service-provider.open-control-plane.io/provider';
const OURS = 'service-provider-tools';
const RIGHTS: ResourceType[] = [CLUSTER_ROLES, CLUSTER_ROLE_BINDINGS, ROLES, ROLE_BINDINGS];

let stage: Stage;
let tenants: KcpTenants;

beforeAll(async () => {
  stage = await createStage({ provider: tools, kcp: true });
  tenants = new KcpTenants(stage);
  await stage.run({ workspaceTuning: { teardownPatienceMs: 15_000 } });
});

afterAll(() => stage?.stop());

const orders = (workspace: TenantWorkspace) => tenants.orders(workspace);

async function ready(name: string): Promise<TenantWorkspace> {
  const workspace = await tenants.bound(name);
  await orders(workspace).create('mine', 'x');
  await orders(workspace).untilReady('mine');
  return workspace;
}

let changes = 0;
/** The next pass: somebody changes the object. */
async function pass(workspace: TenantWorkspace): Promise<ServiceObject> {
  await orders(workspace).change('mine', `change-${++changes}`);
  return orders(workspace).untilReady('mine');
}

async function gone(workspace: TenantWorkspace): Promise<void> {
  await orders(workspace).remove('mine');
  await orders(workspace).untilGone('mine');
}

type Rights = KubeObjectOf<{ rules?: unknown; subjects?: unknown; roleRef?: unknown; aggregationRule?: unknown }>;

/** What the runtime has made there, by what it says. */
async function rightsIn({ client }: TenantWorkspace): Promise<Record<string, object>> {
  const lists = await Promise.all(RIGHTS.map((type) => client.list<Rights>(type, { labelSelector: LABEL })));
  return Object.fromEntries(
    lists.flatMap(({ items }, index) =>
      items.map(({ metadata, rules, subjects, roleRef, aggregationRule }) => [
        `${RIGHTS[index]?.kind} ${metadata.namespace ?? ''}/${metadata.name}`,
        { rules, subjects, roleRef, aggregationRule },
      ]),
    ),
  );
}

describe('rights', () => {
  test('that a tenant deletes are back after the next pass', async () => {
    const workspace = await ready('deleting');
    const before = await rightsIn(workspace);
    expect(Object.keys(before).length).toBeGreaterThanOrEqual(8);
    for (const type of RIGHTS)
      for (const { metadata } of (await workspace.client.list(type, { labelSelector: LABEL })).items)
        await workspace.client.delete(type, metadata.name, { namespace: metadata.namespace });
    await pass(workspace);
    expect(await rightsIn(workspace)).toEqual(before);
    const access = await tenants.accessOf(workspace);
    expect(await allowed(() => access.list(CONFIG_MAPS))).toBe(true);
    await gone(workspace);
  });

  test('that a tenant edits are as declared after the next pass: more, less, others, nobody, and without our label', async () => {
    const workspace = await ready('editing');
    const before = await rightsIn(workspace);
    const everything = [{ apiGroups: ['*'], resources: ['*'], verbs: ['*'] }];
    const edits: Record<string, object[]> = {
      clusterroles: [{ rules: everything }, { rules: [] }],
      roles: [{ rules: everything }, { rules: null }],
      clusterrolebindings: [{ subjects: null }, { subjects: [{ kind: 'User', name: 'eve' }] }],
      rolebindings: [{ subjects: [{ kind: 'User', name: 'eve' }] }, { subjects: null }],
    };
    for (const round of [0, 1]) {
      for (const type of RIGHTS)
        for (const { metadata } of (await workspace.client.list(type, { labelSelector: LABEL })).items) {
          const labels = round === 0 ? {} : { metadata: { labels: { [LABEL]: null } } };
          const patch = { ...edits[type.plural]?.[round], ...labels };
          await workspace.client.mergePatch(type, metadata.name, patch, { namespace: metadata.namespace });
        }
      await pass(workspace);
      expect(await rightsIn(workspace)).toEqual(before);
    }
    await gone(workspace);
  });

  test('cost nothing where they are as they have to be: a pass writes nothing in the workspace', async () => {
    const workspace = await ready('settled');
    const versions = async () => {
      const lists = await Promise.all(
        [...RIGHTS, SERVICE_ACCOUNTS, NAMESPACES, SECRETS].map((type) => workspace.client.list(type)),
      );
      return lists.map(({ items }) => items.map(({ metadata }) => `${metadata.name} ${metadata.resourceVersion}`));
    };
    const before = await versions();
    await pass(workspace);
    expect(await versions()).toEqual(before);
    await gone(workspace);
  });
});

describe("an object of the tenant's that has one of our names", () => {
  const labels = { [LABEL]: tools.name };
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' };
  const subjects = [{ kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: 'somebody' }];
  const planted: [string, ResourceType, KubeObject & Record<string, unknown>][] = [
    ['Namespace', NAMESPACES, { metadata: { name: OURS, labels } }],
    ['ClusterRole', CLUSTER_ROLES, { metadata: { name: `${OURS}-access-0`, labels }, rules: [] }],
    ['ClusterRoleBinding', CLUSTER_ROLE_BINDINGS, { metadata: { name: `${OURS}-enter`, labels }, roleRef, subjects }],
  ];

  test.each(planted)('%s is left alone and named; without it the order is served', async (kind, type, object) => {
    const workspace = await tenants.bound(`planted-${type.plural}`);
    const before = await workspace.client.create(type, object);
    const rights = await rightsIn(workspace);
    await orders(workspace).create('mine', 'x');
    const waiting = await orders(workspace).untilReason('mine', 'ForeignObject');
    expect(conditionOf(waiting, 'Ready')?.message).toContain(`${kind} ${object.metadata.name}`);
    expect(conditionOf(waiting, 'Ready')?.message).toMatch(/delete or rename/);
    const { uid, labels: label } = (await workspace.client.get(type, object.metadata.name))?.metadata ?? {};
    expect([uid, label?.[LABEL]]).toEqual([before.metadata.uid, tools.name]);
    expect(await rightsIn(workspace)).toEqual(rights);
    await workspace.client.delete(type, object.metadata.name);
    await orders(workspace).untilReady('mine');
    await gone(workspace);
  });

  test.each([
    ['Namespace', NAMESPACES, OURS, undefined],
    ['ClusterRole', CLUSTER_ROLES, `${OURS}-access-0`, undefined],
    ['ClusterRoleBinding', CLUSTER_ROLE_BINDINGS, `${OURS}-access-0`, undefined],
    ['ServiceAccount', SERVICE_ACCOUNTS, OURS, OURS],
    ['Role', ROLES, `${OURS}-access-1`, TOOLS_NAMESPACE],
  ] as const)(
    '%s put in place of ours, with all that ours had on it, is none of ours',
    async (kind, type, name, namespace) => {
      const workspace = await ready(`replaced-${type.plural}`);
      const copy = await workspace.client.get<KubeObject>(type, name, namespace);
      if (!copy) throw new Error(`no ${kind}`);
      await workspace.client.delete(type, name, { namespace });
      const { labels: label = {}, annotations = {} } = copy.metadata;
      const metadata = { name, labels: label, annotations, ...(namespace ? { namespace } : {}) };
      const mine = await eventually('the tenant has made his own', async () => {
        const there = await workspace.client.get(type, name, namespace);
        return there ? undefined : workspace.client.create<KubeObject>(type, { ...copy, metadata });
      });
      await orders(workspace).change('mine', 'again');
      const waiting = await orders(workspace).untilReason('mine', 'ForeignObject');
      expect(conditionOf(waiting, 'Ready')?.message).toContain(kind);
      expect((await workspace.client.get(type, name, namespace))?.metadata).toMatchObject({
        uid: mine.metadata.uid,
        resourceVersion: mine.metadata.resourceVersion,
      });
      await workspace.client.delete(type, name, { namespace });
      await orders(workspace).untilReady('mine');
      await gone(workspace);
    },
  );

  test('or only our label outlives ours', async () => {
    const workspace = await ready('labelled');
    const theirs: [ResourceType, KubeObject & Record<string, unknown>][] = [
      [NAMESPACES, { metadata: { name: 'theirs', labels } }],
      [CLUSTER_ROLES, { metadata: { name: 'theirs', labels }, rules: [] }],
      [CLUSTER_ROLE_BINDINGS, { metadata: { name: 'theirs', labels }, roleRef, subjects }],
      [SERVICE_ACCOUNTS, { metadata: { name: 'theirs', namespace: 'default', labels } }],
      [SECRETS, { metadata: { name: `${OURS}-token-theirs`, namespace: OURS, labels }, data: {} }],
    ];
    for (const [type, object] of theirs) await workspace.client.create(type, object);
    await pass(workspace);
    for (const [type, { metadata }] of theirs)
      expect(await workspace.client.get(type, metadata.name, metadata.namespace)).toBeDefined();
    await gone(workspace);
    for (const [type, { metadata }] of theirs.slice(0, 4))
      expect(await workspace.client.get(type, metadata.name, metadata.namespace)).toBeDefined();
    expect(Object.keys(await rightsIn(workspace))).toEqual(['ClusterRole /theirs', 'ClusterRoleBinding /theirs']);
  });
});

describe('namespaces', () => {
  const isGone = async ({ client }: TenantWorkspace, name: string) =>
    (await client.get(NAMESPACES, name)) === undefined;

  test('that the runtime made go at the end', async () => {
    const workspace = await ready('made');
    expect(await isGone(workspace, TOOLS_NAMESPACE)).toBe(false);
    await gone(workspace);
    for (const name of [OURS, TOOLS_NAMESPACE]) await eventually(`${name} is gone`, () => isGone(workspace, name));
  });

  test('that the tenant had already are used, and stay as they are', async () => {
    const workspace = await tenants.bound('theirs');
    const metadata = { name: TOOLS_NAMESPACE };
    const before = await workspace.client.create<KubeObject>(NAMESPACES, { metadata });
    await orders(workspace).create('mine', 'x');
    await orders(workspace).untilReady('mine');
    expect((await workspace.client.get(NAMESPACES, TOOLS_NAMESPACE))?.metadata.labels).toEqual(before.metadata.labels);
    await gone(workspace);
    await eventually('ours is gone', () => isGone(workspace, OURS));
    expect((await workspace.client.get(NAMESPACES, TOOLS_NAMESPACE))?.metadata.deletionTimestamp).toBeUndefined();
  });
});

test('after all of it nothing is left that belongs to no object', async () => {
  await stage.idle();
  await eventually('no orphan', async (seen) => {
    const found = await orphansIn(tools, stage, tenants);
    seen(found);
    return found.length === 0;
  });
  expect(await orphansIn(tools, stage, tenants)).toEqual([]);
});
