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
import { podOf, type PodOwner, startPod } from '../support/deployed-provider.ts';
import { foreignCrds } from '../support/foreign-crds.ts';
import { createLandscape, type Landscape } from '../support/landscape.ts';
import { DEPLOY, dryRun, kustomized, type Manifest, typeOf } from '../support/manifests.ts';
import { ordersIn, type Orders } from '../support/orders.ts';
import { configMapValue, requestsIn } from '../support/requests.ts';
import { installProvider } from '../support/service.ts';
import { PROJECT } from '../support/stage.ts';

/** What `deploy/` holds, on API servers that enforce it. */

const NAMESPACE = 'foo-system';
const NAME = 'cp';
const OVERLAYS = ['worker', 'worker-hpa', 'knative', 'operator', 'kcp'] as const;
const workers = await kustomized(join(DEPLOY, 'worker'));

const stack = new AsyncDisposableStack();
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

describe('the workers, each with the rights of its own ServiceAccount', () => {
  const processes: ManagedProcess[] = [];

  beforeAll(async () => {
    const rights = workers.filter(({ kind }) => /Role|ServiceAccount/.test(kind));
    for (const manifest of rights) await platform.apply(typeOf(manifest), manifest);
    await landscape.createControlPlane(PROJECT, NAME);
  });

  afterAll(() => Promise.all(processes.map((process) => process.stop())));

  test('become ready', async () => {
    const deployments = workers.filter(({ kind }) => kind === 'Deployment');
    expect(deployments).toHaveLength(5);
    await Promise.all(
      deployments.map(async (deployment) => {
        const { name } = deployment.metadata;
        const health = `127.0.0.1:${await freePort()}`;
        const pod = await podOf(deployment as unknown as PodOwner, name, server, landscape.dir);
        // Redis stands on this machine, and its address in a variable in place of a mounted file.
        const { REDIS_URL_FILE: _file, ...env } = pod.env;
        const args = [...pod.args, `--health-probe-bind-address=${health}`, '--metrics-bind-address=0'];
        const logFile = join(landscape.dir, `${name}.log`);
        const quick = { REDIS_URL: redisUrl, LEASE_DURATION: '3s' };
        processes.push(await startPod({ ...pod, args, env: { ...env, ...quick } }, { name, health, logFile }));
      }),
    );
  });

  test('serve an order from its creation to its end', async () => {
    await orders.create(NAME, 'one');
    await orders.untilReady(NAME);
    const { client, platformNamespace } = await landscape.createControlPlane(PROJECT, NAME);
    expect(await configMapValue(client, configMapName(`${PROJECT}/${NAME}`))).toBe('one');
    await orders.remove(NAME);
    await orders.untilGone(NAME);
    expect(await requestsIn(platform, platformNamespace, 'foo--')).toEqual([]);
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

  test.each([
    ['foo-resolve-credentials', /cannot (create|patch|get) resource "(cluster|access)requests"/],
    ['foo-provider-install', /cannot get resource "(clusterrequests|accessrequests|secrets|providerconfigs)"/],
  ])('say what is missing where the role of %s is taken away, and go on when it is back', async (role, problem) => {
    const binding = workers.find(({ kind, metadata }) => kind === 'ClusterRoleBinding' && metadata.name === role);
    const withRole = workers.find(({ kind, metadata }) => kind === 'ClusterRole' && metadata.name === role) as Manifest;
    expect(binding).toBeDefined();
    const rules = (withRole['rules'] as { resources: string[] }[]).filter(({ resources }) =>
      // The ProviderConfig stays readable, or nothing at all could be said.
      resources.includes('providerconfigs'),
    );
    await platform.apply(typeOf(withRole), { ...withRole, rules });
    await orders.create(NAME, role);
    const told = await orders.until(NAME, 'refused', (object) => {
      return problem.test(conditionOf(object, 'Ready')?.message ?? '');
    });
    expect(conditionOf(told, 'Ready')).toMatchObject({ status: 'False' });
    await platform.apply(typeOf(withRole), withRole);
    await orders.untilReady(NAME);
    await orders.remove(NAME);
    await orders.untilGone(NAME);
  });
});
