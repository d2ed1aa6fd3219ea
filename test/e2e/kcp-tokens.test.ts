import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { RunningRuntime } from '../../deploy/command/compose.ts';
import foo from '../../functions/providers/foo/provider.ts';
import type { HttpKubeClient } from '../../shared/kube/client.ts';
import { clientFor } from '../../shared/kube/connect.ts';
import { kubeconfigFromSecret, parseKubeconfig } from '../../shared/kube/kubeconfig.ts';
import { CONFIG_MAPS, SECRETS, SERVICE_ACCOUNTS } from '../../shared/kube/resources.ts';
import type { Secret } from '../../shared/model/access.ts';
import { allowed, refused } from '../support/calls.ts';
import { KcpTenants } from '../support/kcp-tenants.ts';
import { inTheMoment } from '../support/moment.ts';
import { FOO_MODULE, type ServiceProcess, startServiceProcess } from '../support/service-process.ts';
import { createStage, QUICK_ENV, type Stage } from '../support/stage.ts';
import { eventually } from '../support/wait.ts';
import type { TenantWorkspace } from '../support/workspaces.ts';

/** kcp grants no shorter life; so renewed after six seconds. */
const LIFE_SECONDS = 600;
const SIX_SECONDS = 0.01;
const VERBS = ['create', 'delete', 'get', 'list', 'patch', 'update', 'watch'];

let stage: Stage;
let tenants: KcpTenants;
let runtime: RunningRuntime;

beforeAll(async () => {
  stage = await createStage({ provider: foo, kcp: true });
  tenants = new KcpTenants(stage);
  runtime = await start(0.8);
});

const services: ServiceProcess[] = [];

afterAll(async () => {
  await Promise.all(services.map((service) => service.stop()));
  await stage?.stop();
});

function start(renewalThreshold: number): Promise<RunningRuntime> {
  return stage.run({ workspaceTuning: { tokenLifeSeconds: LIFE_SECONDS, renewalThreshold } });
}

const ready = async (name: string): Promise<TenantWorkspace> => {
  const workspace = await tenants.bound(name);
  await tenants.orders(workspace).create('mine', 'x');
  await tenants.orders(workspace).untilReady('mine');
  return workspace;
};
interface Held {
  readonly token: string;
  readonly client: HttpKubeClient;
}

/** What a workload has: the kubeconfig in the tenant namespace on the platform. */
async function held(workspace: TenantWorkspace): Promise<Held> {
  const credentials = parseKubeconfig(kubeconfigFromSecret((await tenants.secretOf(workspace)) ?? {}, 'test'), 'test');
  return { token: credentials.token ?? '', client: clientFor(credentials) };
}
const another = (workspace: TenantWorkspace, than: string): Promise<Held> =>
  eventually('there is another token', async () => {
    const now = await held(workspace);
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
  let access: Held;
  beforeAll(async () => {
    workspace = await ready('holder');
    access = await held(workspace);
  });

  test('may do what is declared, and nothing else', async () => {
    await allowed(() => access.client.list(CONFIG_MAPS));
    const ours = (await workspace.client.list(SERVICE_ACCOUNTS)).items.find(({ metadata }) => metadata.labels);
    for (const namespace of ['default', ours?.metadata.namespace ?? ''])
      expect(await rightsOf(access.client, namespace)).toEqual(VERBS.map((verb) => `${verb} configmaps.`));
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
    await runtime.stop();
    runtime = await start(SIX_SECONDS);
    const workspace = await ready('renewing');
    const first = await held(workspace);
    await allowed(() => first.client.list(CONFIG_MAPS));
    const second = await another(workspace, first.token);
    for (const { client } of [first, second]) await allowed(() => client.list(CONFIG_MAPS));
    await eventually('the first token is refused by the server', async () => {
      await held(workspace).then(({ client }) => client.list(CONFIG_MAPS));
      return refused(() => first.client.list(CONFIG_MAPS));
    });
    await tenants.orders(workspace).untilReady('mine');
    const tokens = await workspace.client.list(SECRETS);
    expect(tokens.items.filter(({ metadata }) => metadata.labels).length).toBeLessThanOrEqual(4);
  });
});

describe('a process that dies while a token is made', () => {
  type TypedSecret = Secret & { type?: string };
  const bootstrap = async ({ client }: TenantWorkspace): Promise<TypedSecret[]> =>
    (await client.list<TypedSecret>(SECRETS)).items.filter(
      ({ type }) => type === 'kubernetes.io/service-account-token',
    );

  test('leaves nothing behind that the next pass does not use or remove', async () => {
    await runtime.stop();
    const workspace = await tenants.bound('interrupted');
    const env = { ...stage.env, ...QUICK_ENV, TOKEN_LIFE: '10m', TOKEN_RENEWAL_THRESHOLD: '0.01' };
    const start = async (): Promise<ServiceProcess> => {
      const made = await startServiceProcess({ args: ['run'], dir: stage.landscape.dir, provider: FOO_MODULE, env });
      services.push(made);
      return made;
    };
    let service = await start();
    await tenants.orders(workspace).create('mine', 'x');
    // Killed in the moment in which kcp has been asked for a token, as often as it takes to hit one.
    await eventually('a bootstrap Secret is left behind', async () => {
      let killed: Promise<void> | undefined;
      const { passed } = await inTheMoment(
        workspace.client,
        SECRETS,
        ({ metadata }) => metadata.name.startsWith('service-provider-foo-bootstrap-'),
        () => void (killed = service.kill()),
      );
      await passed;
      await killed;
      if ((await bootstrap(workspace)).length > 0) return true;
      service = await start();
      return false;
    });
    const [left] = await bootstrap(workspace);
    await eventually('its token is worth something', async () => (await bootstrap(workspace))[0]?.data?.['token']);
    service = await start();
    await tenants.orders(workspace).untilReady('mine');
    await eventually('that Secret is gone', async () => {
      const there = await bootstrap(workspace);
      return !there.some(({ metadata }) => metadata.uid === left?.metadata.uid);
    });
    expect(await (await held(workspace)).client.list(CONFIG_MAPS).then(() => 'works')).toBe('works');
  });
});
