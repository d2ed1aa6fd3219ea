import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { createMetrics } from '../../deploy/command/metrics.ts';
import { AccessReviews } from '../../deploy/command/metrics-access.ts';
import { serveMetrics } from '../../deploy/command/metrics-server.ts';
import foo, { configMapName } from '../../functions/providers/foo/provider.ts';
import { isForbidden } from '../../shared/kube/api-error.ts';
import type { HttpKubeClient } from '../../shared/kube/client.ts';
import { CRDS } from '../../shared/kube/resources.ts';
import { createLogger } from '../../shared/log.ts';
import type { KubeObject } from '../../shared/model/kubernetes.ts';
import { connectKcp } from '../control-planes/kcp.ts';
import { freePort } from '../control-planes/ports.ts';
import type { ManagedProcess } from '../control-planes/processes.ts';
import { type DeployedFoo, deployFoo } from '../support/deployed-foo.ts';
import { DEPLOYMENTS, JOBS, runPod, startPod } from '../support/deployed-provider.ts';
import { imageIn, runInImage } from '../support/image.ts';
import type { Landscape } from '../support/landscape.ts';
import { SYSTEM_NAMESPACE } from '../support/landscape-options.ts';
import { accountToken, letReadMetrics, metric, metricsByHttps } from '../support/metrics-client.ts';
import { ordersIn, type Orders } from '../support/orders.ts';
import { configMapValue } from '../support/requests.ts';
import { PROJECT } from '../support/stage.ts';
import { eventually } from '../support/wait.ts';

/** The operator deploys the provider: what it writes is run to the letter, with the rights that it gives. */

interface Replica {
  name: string;
  metrics: string;
  process: ManagedProcess;
}

let deployed: DeployedFoo;
let landscape: Landscape;
let platform: HttpKubeClient;
let onboarding: HttpKubeClient;
let orders: Orders;
const replicas: Replica[] = [];
let leaderName: string | undefined;

beforeAll(async () => {
  deployed = await deployFoo(inject('runFolder'), connectKcp(inject('kcpKubeconfig')));
  ({ landscape } = deployed);
  platform = landscape.platform.client;
  onboarding = landscape.onboarding.client;
  orders = ordersIn(onboarding, foo.api.type, PROJECT);
});

afterAll(async () => {
  for (const { process } of replicas) await process.stop();
  await deployed?.stop();
});

describe('a ServiceProvider, deployed by the operator', () => {
  test('runs in an image that it can not write to, as nobody in particular', () => {
    const root = imageIn(landscape.dir);
    const script = `console.log(process.getuid()); for (const path of ['/app/x', '/etc/x', '/x'])
      try { fs.writeFileSync(path, ''); console.log('wrote', path) } catch (error) { console.log(error.code) }`;
    const { code, output } = runInImage(root, ['/usr/local/bin/node', '-e', script]);
    expect(output.trim().split('\n')).toEqual(['65532', 'EROFS', 'EROFS', 'EROFS']);
    expect(code).toBe(0);
    const help = runInImage(root, ['/usr/local/bin/node', '/app/deploy/command/main.js', '--help']);
    expect(help.output).toContain('Usage: service-provider');
  });

  test('init installs the types where they belong, and registers the kind', async () => {
    const job = await deployed.written(JOBS, 'sp-foo-init');
    const pod = await deployed.podOf(job, 'sp-foo-init-1');
    expect(pod.args).toEqual(['init', `--environment=${landscape.name}`, '--verbosity=DEBUG', '--provider-name=foo']);
    expect(await runPod(pod, join(landscape.dir, 'init.log'))).toMatchObject({ code: 0 });

    const served = async (client: HttpKubeClient) =>
      (await client.list<KubeObject>(CRDS)).items
        .filter(({ metadata }) => metadata.name.endsWith(foo.api.type.group))
        .map(({ metadata }) => `${metadata.name} ${metadata.labels?.['openmcp.cloud/cluster']}`);
    expect(await served(platform)).toEqual([`providerconfigs.${foo.api.type.group} platform`]);
    expect(await served(onboarding)).toEqual([`foos.${foo.api.type.group} onboarding`]);
    const { group, version, kind } = foo.api.type;
    expect((await deployed.serviceProvider())?.status?.resources).toEqual([{ group, version, kind }]);

    // The operator starts it anew after each change of the ServiceProvider.
    const before = await deployed.serviceProvider();
    expect((await runPod(pod, join(landscape.dir, 'init-again.log'))).code).toBe(0);
    expect((await deployed.serviceProvider())?.metadata.resourceVersion).toBe(before?.metadata.resourceVersion);
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
    const deployment = await deployed.written(DEPLOYMENTS, 'sp-foo');
    expect(deployment.spec.replicas).toBe(2);
    await platform.apply(foo.config.type, { metadata: { name: foo.name }, spec: {} } as KubeObject);
    for (const name of ['sp-foo-1', 'sp-foo-2']) {
      const pod = await deployed.podOf(deployment, name);
      expect(pod.args).toEqual([
        'run',
        `--environment=${landscape.name}`,
        '--verbosity=DEBUG',
        '--provider-name=foo',
        '--leader-elect=true',
        `--metrics-bind-address=:${deployed.metricsPort}`,
        '--metrics-secure=false',
      ]);
      // Pods have a network of their own; these processes share one.
      const health = `127.0.0.1:${await freePort()}`;
      const metrics = replicas.length === 0 ? `127.0.0.1:${deployed.metricsPort}` : `127.0.0.1:${await freePort()}`;
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
      replicas.map(
        async (one) => [one.name, await metric(one.metrics, 'service_provider_bridge_leads{mode="standard",')] as const,
      ),
    );
    const leaders = lead.filter(([, value]) => value === 1).map(([name]) => name);
    expect(leaders).toHaveLength(1);
    leaderName = leaders[0];
    expect(await deployed.holder()).toBe(leaderName);
  });

  test('the rights of init and run are apart', async () => {
    const [init, run] = [await deployed.accessOf('init'), await deployed.accessOf('run')];
    const crd = foo.api.crd() as KubeObject;
    expect(await init.client.get(CRDS, crd.metadata.name)).toBeDefined();
    await expect(init.client.list(foo.api.type)).rejects.toSatisfy(isForbidden);
    expect((await run.client.list(foo.api.type)).items).toHaveLength(1);
    await expect(run.client.apply(CRDS, crd)).rejects.toSatisfy(isForbidden);
    for (const { request } of [init, run])
      expect(request.metadata.labels).toMatchObject({ 'openmcp.cloud/managed-by': 'foo' });
  });

  test('/metrics tells of queues, invocations and watches', async () => {
    const values = await Promise.all(
      replicas.map(async (one) => ({
        installs: await metric(
          one.metrics,
          'service_provider_invocations_total{function="provider-install",outcome="again",',
        ),
        waiting: await metric(
          one.metrics,
          'service_provider_queue_jobs{function="resolve-credentials",state="waiting",',
        ),
        watch: await metric(one.metrics, 'service_provider_bridge_watch_up{watch="accessrequests",'),
        timers: await metric(one.metrics, 'service_provider_delivery_objects{state="timers",'),
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
    const deployment = await deployed.written(DEPLOYMENTS, 'sp-foo');
    const pod = await deployed.podOf(deployment, 'sp-foo-orphans');
    const args = ['orphans', '--delete', '--provider-name=foo', '--verbosity=ERROR'];
    const { code, log } = await runPod({ ...pod, args }, join(landscape.dir, 'orphans.log'));
    expect(log).toBe('0 orphans, 0 deleted, 3 in use, 0 could not be judged\n');
    expect(code).toBe(0);
  });

  test('/metrics is served by HTTPS to whom the platform cluster lets read it', async () => {
    const address = `127.0.0.1:${await freePort()}`;
    const metrics = createMetrics('foo');
    const log = createLogger('info', 'foo', join(landscape.dir, 'metrics.log'));
    const reviews = new AccessReviews(platform);
    const options = { address, secure: true, certificate: undefined, provider: 'foo', reviews, metrics, log };
    const server = await serveMetrics(options);
    try {
      const [reader, other] = await Promise.all(['reader', 'other'].map((name) => accountToken(platform, name)));
      await letReadMetrics(platform, 'reader');
      const body = await eventually('the right is known', async () => {
        const answer = await metricsByHttps(address, reader);
        return answer.code === 200 && answer.text;
      });
      expect(body).toContain('process_cpu_seconds_total{provider="foo"}');
      expect((await metricsByHttps(address, other)).code).toBe(403);
      expect((await metricsByHttps(address, 'nobody')).code).toBe(401);
      expect((await metricsByHttps(address, undefined)).code).toBe(401);
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
      const name = await deployed.holder();
      seen(name);
      return name === other.name;
    });

    await orders.remove('cp');
    await orders.untilGone('cp');
    await other.process.stop();
    // Given up, so that the next one need not wait for its end.
    expect(await deployed.holder()).toBe('');
  });
});
