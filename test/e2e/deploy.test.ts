import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import foo, { configMapName } from '../../functions/providers/foo/provider.ts';
import type { HttpKubeClient } from '../../shared/kube/client.ts';
import { workspaceNamespace } from '../../shared/names.ts';
import { conditionOf } from '../../shared/status.ts';
import { connectKcp } from '../control-planes/kcp.ts';
import { type KubeApiserver, startKubeApiserver } from '../control-planes/kube-apiserver.ts';
import { freePort } from '../control-planes/ports.ts';
import type { ManagedProcess } from '../control-planes/processes.ts';
import { startRedis } from '../control-planes/redis.ts';
import { installCrds } from '../support/crds.ts';
import { folderOf, podOf, type PodOwner, startPod } from '../support/deployed-provider.ts';
import { foreignCrds } from '../support/foreign-crds.ts';
import { ACCOUNT_FOLDER } from '../support/image.ts';
import { createLandscape, type Landscape } from '../support/landscape.ts';
import { DEPLOY, dryRun, kustomized, type Manifest, typeOf } from '../support/manifests.ts';
import { ordersIn, type Orders } from '../support/orders.ts';
import { configMapValue, requestsIn } from '../support/requests.ts';
import { installProvider } from '../support/service.ts';
import { PROJECT } from '../support/stage.ts';
import { problemsIn } from '../support/problems.ts';
import { eventually } from '../support/wait.ts';

/** What `deploy/` holds, on API servers that enforce it. */

const NAMESPACE = 'foo-system';
const NAME = 'cp';
const OVERLAYS = ['worker', 'worker-hpa', 'knative', 'operator', 'kcp'] as const;
const workers = await kustomized(join(DEPLOY, 'worker'));

const stack = new AsyncDisposableStack();
const processes: ManagedProcess[] = [];
let landscape: Landscape;
let server: KubeApiserver;
let platform: HttpKubeClient;
let redisUrl: string;
let orders: Orders;

beforeAll(async () => {
  const dir = join(inject('runFolder'), 'deploy');
  const start = async (name: string): Promise<KubeApiserver> => {
    const started = await startKubeApiserver({ dir: join(dir, name) });
    stack.defer(() => started.stop());
    return started;
  };
  const apiservers = { platform: await start('platform'), onboarding: await start('onboarding') };
  server = apiservers.platform;
  platform = server.admin;
  landscape = await createLandscape({ kcp: connectKcp(inject('kcpKubeconfig')), dir, apiservers });
  stack.defer(() => landscape.stop());
  const redis = await startRedis({ dir: join(dir, 'redis') });
  stack.defer(() => redis.stop());
  redisUrl = redis.url;
  await Promise.all([
    installCrds(platform, foreignCrds()),
    installProvider(landscape, foo, { kcp: true, namespace: NAMESPACE, config: { pollInterval: '0s' } }),
  ]);
  orders = ordersIn(landscape.onboarding.client, foo.api.type, PROJECT);
});

afterAll(() => stack.disposeAsync());

describe('every manifest', () => {
  test.each(OVERLAYS)('of %s is accepted by an API server', async (overlay) => {
    const manifests = await kustomized(join(DEPLOY, overlay));
    for (const manifest of manifests) await dryRun(server.adminCredentials, manifest);
    expect(manifests.length).toBeGreaterThan(0);
  });

  test('with a field that does not exist would be refused', async () => {
    const [manifest] = (await kustomized(join(DEPLOY, 'operator'))) as [Manifest];
    const wrong = { ...manifest, spec: { ...(manifest['spec'] as object), replicaz: 1 } };
    await expect(dryRun(server.adminCredentials, wrong)).rejects.toThrow(/replicaz/);
  });
});

/** Without what tests put in place of mounted files, and with the addresses of this machine. */
async function started(owner: Manifest, args: string[], options: { health: string; ready?: () => Promise<boolean> }) {
  const { name } = owner.metadata;
  const pod = await podOf(owner as unknown as PodOwner, name, server, landscape.dir);
  const { REDIS_URL_FILE: redisFile, ...env } = pod.env;
  mkdirSync(folderOf(pod), { recursive: true });
  writeFileSync(join(folderOf(pod), 'request-token'), 'secret');
  const local = pod.args.map((arg) =>
    arg.replace('/etc/token/token', `${ACCOUNT_FOLDER}/request-token`).replace(/http:.*/, (url) => servedAt(url)),
  );
  const quick = { ...(redisFile ? { REDIS_URL: redisUrl } : {}), LEASE_DURATION: '3s' };
  const logFile = join(landscape.dir, `${name}.log`);
  const process = await startPod(
    { ...pod, args: [...local, ...args], env: { ...env, ...quick } },
    { name, logFile, ...options },
  );
  processes.push(process);
  return process;
}

/** Where a function is served on this machine, by its address in the cluster. */
const served = new Map<string, string>();
const servedAt = (url: string): string => served.get(url) ?? url;

async function startDeployments(manifests: readonly Manifest[]): Promise<void> {
  const deployments = manifests.filter(({ kind }) => kind === 'Deployment');
  for (const deployment of deployments) {
    const health = `127.0.0.1:${await freePort()}`;
    await started(deployment, [`--health-probe-bind-address=${health}`, '--metrics-bind-address=0'], { health });
  }
}

async function stopAll(): Promise<void> {
  await Promise.all(processes.splice(0).map((process) => process.stop()));
}

/** @returns what is left of it on the platform cluster */
async function serveAnOrder(): Promise<string[]> {
  await orders.create(NAME, 'one');
  await orders.untilReady(NAME);
  const { client, platformNamespace } = await landscape.createControlPlane(PROJECT, NAME);
  expect(await configMapValue(client, configMapName(`${PROJECT}/${NAME}`))).toBe('one');
  await orders.remove(NAME);
  await orders.untilGone(NAME);
  return requestsIn(platform, platformNamespace, 'foo--');
}

describe('the workers, each with the rights of its own ServiceAccount', () => {
  beforeAll(async () => {
    const rights = workers.filter(({ kind }) => /Role|ServiceAccount/.test(kind));
    for (const manifest of rights) await platform.apply(typeOf(manifest), manifest);
    await landscape.createControlPlane(PROJECT, NAME);
  });

  afterAll(() => stopAll());

  test('become ready', async () => {
    await startDeployments(workers);
    expect(processes).toHaveLength(5);
  });

  test('serve an order from its creation to its end', async () => {
    expect(await serveAnOrder()).toEqual([]);
  });

  test('serve a kcp workspace', async () => {
    const workspace = await landscape.createTenantWorkspace('deployed');
    await landscape.bind(workspace, foo.kcp?.exportName ?? '');
    const ordered = ordersIn(workspace.client, foo.api.type, 'default');
    await ordered.create('mine', 'one');
    await ordered.untilReady('mine');
    expect(await configMapValue(workspace.client, configMapName(workspace.logicalCluster))).toBe('one');
    await ordered.remove('mine');
    await ordered.untilGone('mine');
    expect(await requestsIn(platform, workspaceNamespace(foo.name, workspace.logicalCluster), '')).toEqual([]);
  });

  /** The ProviderConfig stays readable, or nothing at all could be said. */
  async function withoutRights(name: string): Promise<() => Promise<unknown>> {
    const role = workers.find(({ kind, metadata }) => kind === 'ClusterRole' && metadata.name === name) as Manifest;
    expect(workers.some(({ kind, metadata }) => kind === 'ClusterRoleBinding' && metadata.name === name)).toBe(true);
    const rules = (role['rules'] as { resources: string[] }[]).filter(({ resources }) =>
      resources.includes('providerconfigs'),
    );
    await platform.apply(typeOf(role), { ...role, rules });
    return () => platform.apply(typeOf(role), role);
  }

  test.each([
    ['foo-resolve-credentials', 'create', /cannot (create|patch|get) (cluster|access)requests/],
    ['foo-provider-install', 'create', /cannot get (clusterrequests|accessrequests|secrets)/],
    ['foo-provider-delete', 'remove', /cannot get (clusterrequests|accessrequests|secrets)/],
    ['foo-access-teardown', 'remove', /cannot (get|list|delete) (clusterrequests|accessrequests|secrets)/],
  ])(
    'say what is missing where the role of %s is taken away, and go on when it is back',
    async (role, when, problem) => {
      const order = async () => void (await orders.create(NAME, role));
      const remove = () => orders.remove(NAME);
      if (when === 'remove') await order().then(() => orders.untilReady(NAME));
      const giveBack = await withoutRights(role);
      await (when === 'create' ? order() : remove());
      const told = await orders.until(NAME, 'refused', (object) => {
        return problem.test(conditionOf(object, 'Ready')?.message ?? '');
      });
      expect(conditionOf(told, 'Ready')).toMatchObject({ status: 'False' });
      await giveBack();
      if (when === 'create') await orders.untilReady(NAME).then(remove);
      await orders.untilGone(NAME);
    },
  );

  test('say it in the log where the role of the bridge is taken away, and go on when it is back', async () => {
    const giveBack = await withoutRights('foo-bridge');
    const bridge = workers.find(({ kind, metadata }) => kind === 'Deployment' && metadata.name === 'foo-bridge');
    const health = `127.0.0.1:${await freePort()}`;
    const isReady = async () => (await fetch(`http://${health}/readyz`)).ok;
    const logFile = join(landscape.dir, 'foo-bridge.log');
    await started(bridge as Manifest, [`--health-probe-bind-address=${health}`, '--metrics-bind-address=0'], {
      health,
      ready: async () =>
        !(await isReady()) &&
        /requests.*cannot (list|watch) resource "(cluster|access)requests"/.test(problemsIn(logFile)),
    });
    await giveBack();
    expect(await eventually('it is ready', isReady)).toBe(true);
  });
});

describe('the services behind the dispatcher, each with the rights of its own ServiceAccount', () => {
  afterAll(() => stopAll());

  test('become ready, in the namespace of their pod', async () => {
    const knative = await kustomized(join(DEPLOY, 'knative'));
    // Functions that are served have no metrics, and ask nobody who may read them.
    const more = workers.filter(({ metadata: { name } }) => name === 'foo-metrics-check');
    expect(more.map(({ kind }) => kind).toSorted()).toEqual(['ClusterRole', 'ClusterRoleBinding']);
    for (const manifest of more) await platform.delete(typeOf(manifest), manifest.metadata.name);
    const rights = knative.filter(({ kind }) => /Role|ServiceAccount/.test(kind));
    for (const manifest of rights) await platform.apply(typeOf(manifest), manifest);
    const services = knative.filter(({ kind, apiVersion }) => kind === 'Service' && apiVersion.startsWith('serving.'));
    for (const service of services) {
      const { name, namespace } = service.metadata;
      const health = `127.0.0.1:${await freePort()}`;
      served.set(`http://${name}.${namespace}.svc.cluster.local/`, `http://${health}/`);
      await started(service, [`--bind-address=${health}`], { health });
    }
    await startDeployments(knative);
    expect(processes).toHaveLength(6);
  });

  test('serve an order from its creation to its end', async () => {
    expect(await serveAnOrder()).toEqual([]);
  });
});
