import { get } from 'node:https';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { createMetrics } from '../../deploy/command/metrics.ts';
import { serveMetrics } from '../../deploy/command/metrics-server.ts';
import foo, { configMapName } from '../../functions/providers/foo/provider.ts';
import { isForbidden } from '../../shared/kube/api-error.ts';
import { clientFor } from '../../shared/kube/connect.ts';
import type { HttpKubeClient } from '../../shared/kube/client.ts';
import { kubeconfigFromSecret, parseKubeconfig } from '../../shared/kube/kubeconfig.ts';
import {
  ACCESS_REQUESTS,
  CLUSTER_ROLE_BINDINGS,
  CLUSTER_ROLES,
  CRDS,
  LEASES,
  SECRETS,
  SERVICE_ACCOUNTS,
  SERVICE_PROVIDERS,
} from '../../shared/kube/resources.ts';
import { createLogger } from '../../shared/log.ts';
import type { AccessRequest, Secret } from '../../shared/model/access.ts';
import type { KubeObject, KubeObjectOf } from '../../shared/model/kubernetes.ts';
import { connectKcp } from '../control-planes/kcp.ts';
import { type KubeApiserver, startKubeApiserver } from '../control-planes/kube-apiserver.ts';
import { freePort } from '../control-planes/ports.ts';
import type { ManagedProcess } from '../control-planes/processes.ts';
import { startRedis } from '../control-planes/redis.ts';
import { issueToken } from '../support/cluster-provider/access.ts';
import { DEPLOYMENTS, JOBS, type PodOwner, podOf, runPod, startPod } from '../support/deployed-provider.ts';
import { createLandscape, type Landscape } from '../support/landscape.ts';
import { SYSTEM_NAMESPACE } from '../support/landscape-options.ts';
import { ordersIn, type Orders } from '../support/orders.ts';
import { configMapValue } from '../support/requests.ts';
import { eventually } from '../support/wait.ts';

/** The operator deploys the provider: what it writes is run to the letter, with the rights that it gives. */

const PROJECT = 'project-a';
const PROVIDER_MODULE = join(import.meta.dirname, '..', '..', 'functions', 'providers', 'foo', 'provider.ts');
const LEASE = 'foo-standard';

type ServiceProvider = KubeObjectOf<{ status?: { phase?: string; resources?: object[] } }>;
type Lease = KubeObjectOf<{ spec: { holderIdentity?: string } }>;

interface Replica {
  name: string;
  metrics: string;
  process: ManagedProcess;
}

const started = new AsyncDisposableStack();
let servers: { platform: KubeApiserver; onboarding: KubeApiserver };
let landscape: Landscape;
let platform: HttpKubeClient;
let onboarding: HttpKubeClient;
let orders: Orders;
let metricsPort: number;
const replicas: Replica[] = [];

beforeAll(async () => {
  const dir = join(inject('runFolder'), 'operator-contract');
  const start = async (name: string) => {
    const server = await startKubeApiserver({ dir: join(dir, name) });
    started.defer(() => server.stop());
    return server;
  };
  servers = { platform: await start('platform'), onboarding: await start('onboarding') };
  const kcp = connectKcp(inject('kcpKubeconfig'));
  landscape = await createLandscape({ kcp, dir: inject('runFolder'), apiservers: servers, deployments: true });
  started.defer(() => landscape.stop());
  platform = servers.platform.admin;
  onboarding = servers.onboarding.admin;
  orders = ordersIn(onboarding, foo.api.type, PROJECT);
  const redis = await startRedis({ dir: join(dir, 'redis') });
  started.defer(() => redis.stop());

  metricsPort = await freePort();
  await platform.create(SERVICE_PROVIDERS, {
    metadata: { name: foo.name },
    spec: {
      image: 'example.org/service-provider-foo:v1',
      verbosity: 'DEBUG',
      runReplicas: 2,
      metrics: { port: metricsPort },
      env: [
        { name: 'REDIS_URL', value: redis.url },
        { name: 'SERVICE_PROVIDER_MODULE', value: PROVIDER_MODULE },
        { name: 'LEASE_DURATION', value: '3s' },
        { name: 'JOB_LOCK_DURATION', value: '2s' },
      ],
    },
  } as KubeObject);
});

afterAll(async () => {
  for (const { process } of replicas) await process.stop();
  await started.disposeAsync();
});

const written = (type: typeof JOBS, name: string): Promise<PodOwner> =>
  eventually(`the operator has written ${type.kind} ${name}`, () =>
    platform.get<PodOwner>(type, name, SYSTEM_NAMESPACE),
  );

const serviceProvider = () => platform.get<ServiceProvider>(SERVICE_PROVIDERS, foo.name);

async function accessOf(use: 'init' | 'run'): Promise<{ request: AccessRequest; client: HttpKubeClient }> {
  const name = `foo--onboarding-${use}`;
  const request = await platform.get<AccessRequest>(ACCESS_REQUESTS, name, SYSTEM_NAMESPACE);
  if (!request) throw new Error(`there is no AccessRequest ${name}`);
  const secret = await platform.get<Secret>(SECRETS, request.status?.secretRef?.name ?? '', SYSTEM_NAMESPACE);
  const client = clientFor(parseKubeconfig(kubeconfigFromSecret(secret as Secret, name), name));
  return { request, client };
}

describe('a ServiceProvider, deployed by the operator', () => {
  test('init installs the types where they belong, and registers the kind', async () => {
    const job = await written(JOBS, 'sp-foo-init');
    const pod = await podOf(job, 'sp-foo-init-1', servers.platform, landscape.dir);
    expect(pod.args).toEqual(['init', `--environment=${landscape.name}`, '--verbosity=DEBUG', '--provider-name=foo']);
    expect(await runPod(pod, join(landscape.dir, 'init.log'))).toMatchObject({ code: 0 });

    const served = async (client: HttpKubeClient) =>
      (await client.list<KubeObject>(CRDS)).items
        .filter(({ metadata }) => metadata.name.endsWith(foo.api.type.group))
        .map(({ metadata }) => `${metadata.name} ${metadata.labels?.['openmcp.cloud/cluster']}`);
    expect(await served(platform)).toEqual([`providerconfigs.${foo.api.type.group} platform`]);
    expect(await served(onboarding)).toEqual([`foos.${foo.api.type.group} onboarding`]);
    const { group, version, kind } = foo.api.type;
    expect((await serviceProvider())?.status?.resources).toEqual([{ group, version, kind }]);

    // The operator starts it anew after each change of the ServiceProvider.
    const before = await serviceProvider();
    expect((await runPod(pod, join(landscape.dir, 'init-again.log'))).code).toBe(0);
    expect((await serviceProvider())?.metadata.resourceVersion).toBe(before?.metadata.resourceVersion);
    await platform.mergePatch(
      JOBS,
      job.metadata.name,
      { status: { succeeded: 1 } },
      {
        namespace: SYSTEM_NAMESPACE,
        subresource: 'status',
      },
    );
  });

  test('run serves objects in two replicas, one of which leads', async () => {
    const deployment = await written(DEPLOYMENTS, 'sp-foo');
    expect(deployment.spec.replicas).toBe(2);
    await platform.apply(foo.config.type, { metadata: { name: foo.name }, spec: {} } as KubeObject);
    for (const name of ['sp-foo-1', 'sp-foo-2']) {
      const pod = await podOf(deployment, name, servers.platform, landscape.dir);
      expect(pod.args).toEqual([
        'run',
        `--environment=${landscape.name}`,
        '--verbosity=DEBUG',
        '--provider-name=foo',
        '--leader-elect=true',
        `--metrics-bind-address=:${metricsPort}`,
        '--metrics-secure=false',
      ]);
      // Pods have a network of their own; these processes share one.
      const health = `127.0.0.1:${await freePort()}`;
      const metrics = replicas.length === 0 ? `127.0.0.1:${metricsPort}` : `127.0.0.1:${await freePort()}`;
      pod.args.push(`--health-probe-bind-address=${health}`);
      if (replicas.length > 0) pod.args.push(`--metrics-bind-address=${metrics}`);
      const logFile = join(landscape.dir, `${name}.log`);
      replicas.push({ name, metrics, process: await startPod(pod, { name, health, logFile }) });
    }

    const { client } = await landscape.createControlPlane(PROJECT, 'cp');
    await orders.create('cp', 'one');
    await orders.untilReady('cp');
    expect(await configMapValue(client, configMapName(`${PROJECT}/cp`))).toBe('one');

    const lead = await Promise.all(
      replicas.map(async (one) => [one.name, await metric(one, leads('standard'))] as const),
    );
    const leaders = lead.filter(([, value]) => value === 1).map(([name]) => name);
    expect(leaders).toHaveLength(1);
    leaderName = leaders[0];
    expect(await holder()).toBe(leaderName);
  });

  test('the rights of init and run are apart', async () => {
    const [init, run] = [await accessOf('init'), await accessOf('run')];
    const crd = foo.api.crd() as KubeObject;
    expect(await init.client.get(CRDS, crd.metadata.name)).toBeDefined();
    expect(isForbidden(await problem(() => init.client.list(foo.api.type)))).toBe(true);
    expect((await run.client.list(foo.api.type)).items).toHaveLength(1);
    expect(isForbidden(await problem(() => run.client.apply(CRDS, crd)))).toBe(true);
    for (const { request } of [init, run])
      expect(request.metadata.labels).toMatchObject({ 'openmcp.cloud/managed-by': 'foo' });
  });

  test('/metrics tells of queues, invocations and watches', async () => {
    const values = await Promise.all(
      replicas.map(async (one) => ({
        installs: await metric(one, 'service_provider_invocations_total{function="provider-install",outcome="again",'),
        waiting: await metric(one, 'service_provider_queue_jobs{function="resolve-credentials",state="waiting",'),
        watch: await metric(one, 'service_provider_bridge_watch_up{watch="accessrequests",'),
        timers: await metric(one, 'service_provider_delivery_objects{state="timers",'),
      })),
    );
    // Which replica takes a job is chance.
    expect(values.reduce((sum, { installs = 0 }) => sum + installs, 0)).toBeGreaterThan(0);
    for (const { waiting, watch, timers } of values) {
      expect(waiting).toBe(0);
      expect(watch).toBe(1);
      expect(timers).toBe(1);
    }
  });

  test('orphans finds nothing while the object is in use', async () => {
    const deployment = await written(DEPLOYMENTS, 'sp-foo');
    const pod = await podOf(deployment, 'sp-foo-orphans', servers.platform, landscape.dir);
    const args = ['orphans', '--delete', '--provider-name=foo', '--verbosity=ERROR'];
    const { code, log } = await runPod({ ...pod, args }, join(landscape.dir, 'orphans.log'));
    expect(log).toBe('0 orphans, 0 deleted, 3 in use, 0 could not be judged\n');
    expect(code).toBe(0);
  });

  test('/metrics is served by HTTPS to whom the platform cluster lets read it', async () => {
    const address = `127.0.0.1:${await freePort()}`;
    const metrics = createMetrics('foo');
    const log = createLogger('info', 'foo', join(landscape.dir, 'metrics.log'));
    const options = { address, secure: true, certificate: undefined, provider: 'foo', platform, metrics, log };
    const server = await serveMetrics(options);
    try {
      const tokens = await Promise.all(
        ['reader', 'other'].map(async (name) => {
          await platform.create(SERVICE_ACCOUNTS, { metadata: { name, namespace: 'default' } });
          return (await issueToken(platform, 'default', name, 3_600)).token;
        }),
      );
      const name = 'metrics-reader';
      const rules = [{ nonResourceURLs: ['/metrics'], verbs: ['get'] }];
      await platform.apply(CLUSTER_ROLES, { metadata: { name }, rules } as KubeObject);
      await platform.apply(CLUSTER_ROLE_BINDINGS, {
        metadata: { name },
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name },
        subjects: [{ kind: 'ServiceAccount', name: 'reader', namespace: 'default' }],
      } as KubeObject);
      const [reader, other] = tokens;
      const body = await eventually('the right is known', async () => {
        const answer = await getByHttps(address, reader);
        return answer.code === 200 && answer.text;
      });
      expect(body).toContain('process_cpu_seconds_total{provider="foo"}');
      expect((await getByHttps(address, other)).code).toBe(403);
      expect((await getByHttps(address, 'nobody')).code).toBe(401);
      expect((await getByHttps(address, undefined)).code).toBe(401);
    } finally {
      await server?.close();
    }
  });

  test('the other replica leads when the leader has died', async () => {
    const leader = replicas.find(({ name }) => name === leaderName) as Replica;
    await leader.process.kill();
    await orders.change('cp', 'two');
    const object = await orders.untilReady('cp');
    expect(object.status).toMatchObject({ foo: 'two' });
    const other = replicas.find(({ name }) => name !== leaderName) as Replica;
    await eventually('the Lease is taken over', async (seen) => {
      const name = await holder();
      seen(name);
      return name === other.name;
    });

    await orders.remove('cp');
    await orders.untilGone('cp');
    await other.process.stop();
    // Given up, so that the next one need not wait for its end.
    expect(await holder()).toBe('');
  });
});

const leads = (mode: string) => `service_provider_bridge_leads{mode="${mode}",`;
let leaderName: string | undefined;

async function holder(): Promise<string> {
  const lease = await platform.get<Lease>(LEASES, LEASE, SYSTEM_NAMESPACE);
  return lease?.spec.holderIdentity?.split('_')[0] ?? '';
}

async function metric({ metrics }: Replica, start: string): Promise<number | undefined> {
  const text = await (await fetch(`http://${metrics}/metrics`)).text();
  const line = text.split('\n').find((one) => one.startsWith(start));
  return line === undefined ? undefined : Number(line.slice(line.lastIndexOf(' ')));
}

function getByHttps(address: string, token: string | undefined): Promise<{ code: number | undefined; text: string }> {
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  return new Promise((resolve, reject) => {
    // Of its own making: nobody has signed it.
    const options = { headers, rejectUnauthorized: false, agent: false };
    get(`https://${address}/metrics`, options, (response) => {
      let text = '';
      response.on('data', (chunk: Buffer) => (text += chunk.toString()));
      response.on('end', () => resolve({ code: response.statusCode, text }));
    }).on('error', reject);
  });
}

async function problem(call: () => Promise<unknown>): Promise<unknown> {
  return call().then(
    () => undefined,
    (error: unknown) => error,
  );
}
