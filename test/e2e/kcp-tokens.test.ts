import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { RunningRuntime } from '../../deploy/command/compose.ts';
import { isDenied } from '../../shared/kube/api-error.ts';
import type { HttpKubeClient } from '../../shared/kube/client.ts';
import { CONFIG_MAPS, SECRETS, SERVICE_ACCOUNTS } from '../../shared/kube/resources.ts';
import type { Secret } from '../../shared/model/access.ts';
import { allowed, refused } from '../support/calls.ts';
import { KcpTenants } from '../support/kcp-tenants.ts';
import { agents, type EmbeddedAccess, embeddedAccess } from '../support/providers/agents.ts';
import { createStage, type Stage } from '../support/stage.ts';
import { eventually } from '../support/wait.ts';
import type { TenantWorkspace } from '../support/workspaces.ts';

/** kcp grants no shorter life; so renewed after six seconds. */
const LIFE_SECONDS = 600;
const SIX_SECONDS = 0.01;

let stage: Stage;
let tenants: KcpTenants;
let runtime: RunningRuntime;

beforeAll(async () => {
  stage = await createStage({ provider: agents, kcp: true });
  tenants = new KcpTenants(stage);
  runtime = await start(0.8);
});

afterAll(() => stage?.stop());

function start(renewalThreshold: number): Promise<RunningRuntime> {
  return stage.run({ workspaceTuning: { tokenLifeSeconds: LIFE_SECONDS, renewalThreshold } });
}

const ready = async (name: string): Promise<TenantWorkspace> => {
  const workspace = await tenants.bound(name);
  await tenants.orders(workspace).create('mine', 'x');
  await tenants.orders(workspace).untilReady('mine');
  return workspace;
};
const embedded = (workspace: TenantWorkspace): Promise<EmbeddedAccess> => embeddedAccess(tenants, workspace, 'mine');
const another = (workspace: TenantWorkspace, than: string): Promise<EmbeddedAccess> =>
  eventually('the workload has another token', async () => {
    const now = await embedded(workspace);
    return now.token !== than && now;
  });

interface Rules {
  status: { resourceRules: { verbs: string[]; apiGroups?: string[]; resources?: string[] }[] };
}

/** What the server says that the caller may do, without what it lets everybody ask about himself. */
async function rightsOf(client: HttpKubeClient, namespace: string): Promise<string[]> {
  const body = { apiVersion: 'authorization.k8s.io/v1', kind: 'SelfSubjectRulesReview', spec: { namespace } };
  const { status } = await client.post<Rules>('/apis/authorization.k8s.io/v1/selfsubjectrulesreviews', body);
  return status.resourceRules
    .flatMap(({ verbs, apiGroups = [], resources = [] }) =>
      verbs.flatMap((verb) => apiGroups.flatMap((group) => resources.map((each) => `${verb} ${each}.${group}`))),
    )
    .filter((each) => !/^create selfsubject\w+\.(authorization|authentication)\.k8s\.io$/.test(each))
    .toSorted();
}

async function mayI(client: HttpKubeClient, resourceAttributes: object): Promise<boolean> {
  const body = { apiVersion: 'authorization.k8s.io/v1', kind: 'SelfSubjectAccessReview', spec: { resourceAttributes } };
  const path = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews';
  return (await client.post<{ status: { allowed: boolean } }>(path, body)).status.allowed;
}

const tokenRequest = (client: HttpKubeClient, namespace: string, account: string): Promise<unknown> =>
  client.post(`/api/v1/namespaces/${namespace}/serviceaccounts/${account}/token`, {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'TokenRequest',
    spec: {},
  });

describe('the kubeconfig that a workload holds', () => {
  let workspace: TenantWorkspace;
  let access: EmbeddedAccess;
  beforeAll(async () => {
    workspace = await ready('holder');
    access = await embedded(workspace);
  });

  test('may do what is declared, and nothing else', async () => {
    await allowed(() => access.client.list(CONFIG_MAPS));
    const ours = (await workspace.client.list(SERVICE_ACCOUNTS)).items.find(({ metadata }) => metadata.labels);
    for (const namespace of ['default', ours?.metadata.namespace ?? ''])
      expect(await rightsOf(access.client, namespace)).toEqual(['get configmaps.', 'list configmaps.']);
    for (const right of [
      { verb: 'create', resource: 'serviceaccounts', subresource: 'token', namespace: ours?.metadata.namespace },
      { verb: 'get', resource: 'secrets', namespace: ours?.metadata.namespace },
      { verb: 'impersonate', resource: 'serviceaccounts' },
      { verb: 'create', group: 'rbac.authorization.k8s.io', resource: 'clusterrolebindings' },
      { verb: '*', group: '*', resource: '*' },
    ])
      expect(await mayI(access.client, right), JSON.stringify(right)).toBe(false);
    expect(await mayI(access.client, { verb: 'list', resource: 'configmaps' })).toBe(true);
  });

  test('makes no tokens: of no ServiceAccount there is, its own included', async () => {
    const { items } = await workspace.client.list(SERVICE_ACCOUNTS);
    expect(items.length).toBeGreaterThan(1);
    for (const { metadata } of items)
      expect(await refused(() => tokenRequest(access.client, metadata.namespace ?? '', metadata.name))).toBe(true);
  });

  test('is the only credential: no Secret in the workspace holds another', async () => {
    const { items } = await workspace.client.list<Secret>(SECRETS);
    expect(items.filter(({ data }) => data?.['token'] !== undefined)).toEqual([]);
  });
});

describe('renewal', () => {
  test('lets the token before work, and the one after that ends it', async () => {
    const workspace = await ready('renewing');
    await runtime.stop();
    runtime = await start(SIX_SECONDS);
    const first = await embedded(workspace);
    await allowed(() => first.client.list(CONFIG_MAPS));
    // A token that is due by the new threshold is one of the next pass.
    await tenants.orders(workspace).change('mine', 'y');
    await eventually('the first token is refused by the server', async () => {
      await embedded(workspace).then(({ client }) => client.list(CONFIG_MAPS));
      return refused(() => first.client.list(CONFIG_MAPS));
    });
    await tenants.orders(workspace).untilReady('mine');
    const tokens = await workspace.client.list(SECRETS);
    expect(tokens.items.filter(({ metadata }) => metadata.labels).length).toBeLessThanOrEqual(4);
  });
});

describe('what a pass that ended in the middle has left behind', () => {
  test('is used or removed by the next one', async () => {
    const workspace = await ready('interrupted');
    const before = await embedded(workspace);
    const { items } = await workspace.client.list<Secret & { type?: string }>(SECRETS);
    expect(items.filter(({ type }) => type === 'kubernetes.io/service-account-token')).toEqual([]);
    const after = await another(workspace, before.token);
    expect(await after.client.list(CONFIG_MAPS).then(() => 'works')).toBe('works');
    await eventually('no bootstrap Secret is there', async (seen) => {
      const secrets = await workspace.client.list<Secret & { type?: string }>(SECRETS);
      seen(secrets.items.map(({ metadata }) => metadata.name));
      return secrets.items.every(({ type }) => type !== 'kubernetes.io/service-account-token');
    });
  });
});

void isDenied;
