import { join } from 'node:path';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import foo from '../../functions/providers/foo/provider.ts';
import { FUNCTION_NAMES, type FunctionName, OBJECT_CHANGED } from '../../shared/events/catalogue.ts';
import { NAMESPACES, SECRETS } from '../../shared/kube/resources.ts';
import type { Secret } from '../../shared/model/access.ts';
import type { KubeObjectOf } from '../../shared/model/kubernetes.ts';
import { startKeda } from '../control-planes/keda.ts';
import { type KubeApiserver, startKubeApiserver } from '../control-planes/kube-apiserver.ts';
import { startNode } from '../control-planes/redis-servers.ts';
import { installCrds } from '../support/crds.ts';
import { DEPLOYMENTS } from '../support/deployed-provider.ts';
import { kedaCrds } from '../support/foreign-crds.ts';
import { callsOf } from '../support/journal.ts';
import { DEPLOY, kustomized, typeOf } from '../support/manifests.ts';
import { Desk, type ServiceProcess, startServiceProcess } from '../support/service-process.ts';
import { createStage, PROJECT, QUICK_ENV, type Stage } from '../support/stage.ts';
import { eventually } from '../support/wait.ts';

/** `deploy/worker` with KEDA's own operator: who is not needed is not there, and who works is not taken away. */

const NAMESPACE = 'foo-system';
const PASSWORD = 'secret';
/** Seconds, in place of those of the manifests. */
const QUICK = { pollingInterval: 1, cooldownPeriod: 4 };

type Deployment = KubeObjectOf<{ spec: { replicas?: number } }>;

const stack = new AsyncDisposableStack();
let stage: Stage;
let desk: Desk;
let server: KubeApiserver;

const deploymentOf = (name: FunctionName): string => `${foo.name}-${name}`;

async function replicas(name: FunctionName): Promise<number | undefined> {
  const deployment = await server.admin.get<Deployment>(DEPLOYMENTS, deploymentOf(name), NAMESPACE);
  return deployment?.spec.replicas;
}

/** In place of a kubelet: a process of a function runs while its Deployment has a replica. */
function runPods(signal: AbortSignal): Promise<void[]> {
  const env = { ...stage.env, ...QUICK_ENV, ...desk.env };
  return Promise.all(
    FUNCTION_NAMES.map(async (name) => {
      let pod: ServiceProcess | undefined;
      while (!signal.aborted) {
        const wanted = await replicas(name);
        if (wanted && !pod)
          pod = await startServiceProcess({ args: ['function', name], dir: stage.landscape.dir, env });
        if (wanted === 0 && pod) pod = await pod.stop().then(() => undefined);
        await new Promise((resolve) => setTimeout(resolve, 200));
      }
      await pod?.stop();
    }),
  );
}

beforeAll(async () => {
  const dir = join(inject('runFolder'), 'keda');
  const redis = await startNode({
    dir: join(dir, 'redis'),
    config: [`requirepass ${PASSWORD}`],
    cliArgs: ['-a', PASSWORD],
  });
  stack.defer(() => redis.stop());
  const rights = ['~{service-provider:foo}:*', '-@all', '+ping', '+eval', '+type', '+llen', '+zcard'];
  redis.cli('ACL', 'SETUSER', 'keda', 'on', `>${PASSWORD}`, ...rights);
  const url = `redis://:${PASSWORD}@${redis.host}:${redis.port}`;
  const queue = { settings: { url }, env: { REDIS_URL: url } };
  stage = await createStage({ provider: foo, config: { pollInterval: '0s' }, answers: 'instant', queue });
  stack.defer(() => stage.stop());
  desk = new Desk(stage.landscape.dir);

  server = await startKubeApiserver({ dir: join(dir, 'server'), controllerManager: true });
  stack.defer(() => server.stop());
  await Promise.all([
    installCrds(server.admin, kedaCrds()),
    server.admin.apply(NAMESPACES, { metadata: { name: NAMESPACE } }),
  ]);
  await server.admin.apply<Secret>(SECRETS, {
    metadata: { name: 'foo-redis', namespace: NAMESPACE },
    data: { address: base64(`${redis.host}:${redis.port}`), username: base64('keda'), password: base64(PASSWORD) },
  });
  const workers = await kustomized(join(DEPLOY, 'worker'));
  const functions = FUNCTION_NAMES.map(deploymentOf);
  for (const manifest of workers) {
    const { kind, metadata } = manifest;
    const apply = (spec: object) => server.admin.apply(typeOf(manifest), { ...manifest, spec });
    const spec = manifest['spec'] as object;
    if (kind === 'Deployment' && functions.includes(metadata.name)) await apply(spec);
    if (kind === 'ScaledObject') await apply({ ...spec, ...QUICK });
    if (kind === 'TriggerAuthentication') await apply(withUsername(spec));
  }
  await stage.run({ functions: [] });
  const stopped = new AbortController();
  const pods = runPods(stopped.signal);
  stack.defer(async () => {
    stopped.abort();
    await pods;
  });
  const keda = await startKeda({ dir: join(dir, 'operator'), kubeconfig: server.kubeconfigPath });
  stack.defer(() => keda.stop());
});

afterAll(() => stack.disposeAsync());

/** As deploy/README.md says for a user of its own. */
function withUsername(spec: { secretTargetRef?: object[] }): object {
  const secretTargetRef = [
    ...(spec.secretTargetRef ?? []),
    { parameter: 'username', name: 'foo-redis', key: 'username' },
  ];
  return { ...spec, secretTargetRef };
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64');
}

async function untilReplicas(wanted: number, ...names: FunctionName[]): Promise<void> {
  await eventually(`${wanted} of ${names.join(', ')}`, async (seen) => {
    const found = await Promise.all(names.map(replicas));
    seen(found);
    return found.every((each) => each === wanted);
  });
}

test('without work there is no worker', async () => {
  await untilReplicas(0, ...FUNCTION_NAMES);
  expect(await stage.jobs('resolve-credentials', 'active', 'waiting', 'prioritized')).toBe(0);
});

test('an object brings up a worker for each step, which stays while a call runs and nothing waits', async () => {
  await stage.landscape.createControlPlane(PROJECT, 'mine');
  desk.hold('install', 'mine');
  await stage.orders.create('mine', 'one');
  await untilReplicas(1, 'resolve-credentials');
  await untilReplicas(1, 'provider-install');
  await eventually('the install runs', () => callsOf(desk.journal, 'mine').length > 0);
  expect(await replicas('provider-delete')).toBe(0);
  // One that is not needed any more goes after the same time.
  await untilReplicas(0, 'resolve-credentials');
  expect(await stage.jobs('provider-install', 'waiting', 'prioritized')).toBe(0);
  expect(await stage.jobs('provider-install', 'active')).toBe(1);
  const held = Date.now();
  await eventually('several cooldowns are over', async () => {
    expect(await replicas('provider-install')).toBe(1);
    return Date.now() - held > 3 * QUICK.cooldownPeriod * 1_000;
  });
  desk.release('install', 'mine');
  await stage.orders.untilReady('mine');
  expect(callsOf(desk.journal, 'mine')).toEqual(['install 1 one']);
  await untilReplicas(0, ...FUNCTION_NAMES);
});

test('work behind that of users counts too', async () => {
  const object = await stage.orders.read('mine');
  if (!object) throw new Error('it is gone');
  await stage.publish(OBJECT_CHANGED, stage.keyOf(object), 'background');
  expect(await stage.jobs('resolve-credentials', 'prioritized')).toBe(1);
  await untilReplicas(1, 'resolve-credentials');
  await untilReplicas(0, ...FUNCTION_NAMES);
  expect(await stage.jobs('resolve-credentials', 'active', 'waiting', 'prioritized')).toBe(0);
});

test('and so does a deletion, to its end', async () => {
  await stage.orders.remove('mine');
  await untilReplicas(1, 'provider-delete');
  await stage.orders.untilGone('mine');
  await untilReplicas(0, ...FUNCTION_NAMES);
  expect(callsOf(desk.journal, 'mine').at(-1)).toBe('delete');
});
