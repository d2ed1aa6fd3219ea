import { readFileSync } from 'node:fs';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import foo, { configMapName } from '../../functions/providers/foo/provider.ts';
import { ACCESS_REQUESTS, CLUSTER_REQUESTS } from '../../shared/kube/resources.ts';
import { configMapValue } from '../support/requests.ts';
import { PROVIDER_NAMESPACE } from '../support/service.ts';
import { COMMAND, FOO_MODULE, type ServiceProcess, startServiceProcess } from '../support/service-process.ts';
import { createStage, PROJECT, type Stage } from '../support/stage.ts';
import { eventually } from '../support/wait.ts';
import { accountToken, letReadMetrics, readiness } from '../support/metrics-client.ts';

const NAME = 'cp';

let stage: Stage;
let service: ServiceProcess | undefined;

beforeAll(async () => {
  stage = await createStage({ provider: foo });
});

afterAll(async () => {
  await service?.stop();
  await stage?.stop();
});

test('`service-provider run` orders its access through the platform, serves orders, and ends in order', async () => {
  const { landscape, orders } = stage;
  const [controlPlane, started] = await Promise.all([
    landscape.createControlPlane(PROJECT, NAME),
    // Ready means: it has its access to the onboarding cluster, and sees what is there.
    startServiceProcess({
      args: ['run'],
      dir: landscape.dir,
      provider: FOO_MODULE,
      env: { ...stage.env, ONBOARDING_KUBECONFIG: '', LEASE_DURATION: '3s' },
    }),
  ]);
  service = started;
  for (const type of [CLUSTER_REQUESTS, ACCESS_REQUESTS])
    expect(await landscape.platform.client.get(type, 'foo--onboarding-run', PROVIDER_NAMESPACE)).toMatchObject({
      metadata: { labels: { 'openmcp.cloud/managed-by': 'foo' } },
      status: { phase: 'Granted' },
    });
  await orders.create(NAME, 'one');
  await orders.untilReady(NAME);
  expect(await configMapValue(controlPlane.client, configMapName(`${PROJECT}/${NAME}`))).toBe('one');
  expect((await fetch(service.readyUrl)).status).toBe(200);
  expect((await fetch(service.readyUrl.replace('readyz', 'healthz'))).status).toBe(200);

  await orders.remove(NAME);
  await orders.untilGone(NAME);
  await service.stop();
  expect(service.exitCode).toBe(0);
});

test('`bridge` and each function in a process of its own do the same together', async () => {
  const { landscape, orders } = stage;
  const env = { ...stage.env, LEASE_DURATION: '3s' };
  const parts = [
    ['bridge'],
    ...['resolve-credentials', 'provider-install', 'provider-delete', 'access-teardown'].map((name) => [
      'function',
      name,
    ]),
  ];
  const starts = parts.map((args) => startServiceProcess({ args, dir: landscape.dir, provider: FOO_MODULE, env }));
  try {
    await Promise.all(starts);
    await orders.create(NAME, 'two');
    await orders.untilReady(NAME);
    await orders.remove(NAME);
    await orders.untilGone(NAME);
  } finally {
    await Promise.allSettled(starts.map((start) => start.then((process) => process.stop())));
  }
  const processes = await Promise.all(starts);
  expect(processes.map(({ exitCode }) => exitCode)).toEqual(parts.map(() => 0));
});

/** Runs it to its end. */
async function command(args: string[], env: Record<string, string>): Promise<{ code: number; stderr: string }> {
  const child = spawn(process.execPath, [COMMAND, ...args], { env, stdio: ['ignore', 'ignore', 'pipe'] });
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  const [code] = (await once(child, 'close')) as [number];
  return { code, stderr };
}

test('wrong settings are refused at once, all of them by name', async () => {
  const path = { PATH: process.env['PATH'] ?? '' };
  const wrong = { CONCURRENCY: 'many', RUN_LIMIT: '1h', LEASE_DURATION: 'long', KCP_EXTERNAL_URL: 'http://kcp' };
  const { code, stderr } = await command(['run', '--provider', FOO_MODULE], { ...path, ...wrong });
  expect(code).toBe(2);
  for (const name of [...Object.keys(wrong), 'REDIS_URL']) expect(stderr).toContain(name);
  expect(stderr.trim().split('\n')).toHaveLength(1);

  const redis = { ...path, REDIS_URL: stage.redis.url };
  const missing = join(stage.landscape.dir, 'missing.ts');
  const noModule = await command(['run', '--provider', missing], redis);
  expect(noModule).toMatchObject({ code: 2, stderr: expect.stringContaining('--provider') as string });
  const noProvider = await command(['run', '--provider', join(import.meta.dirname, '..', 'support', 'wait.ts')], redis);
  expect(noProvider).toMatchObject({ code: 2, stderr: expect.stringContaining('defineProvider') as string });
});

test('a process without its queue says that it is not ready, and is ready again when the queue is back', async () => {
  const { landscape } = stage;
  service = await startServiceProcess({
    args: ['bridge'],
    dir: landscape.dir,
    provider: FOO_MODULE,
    env: stage.env,
  });
  const { readyUrl } = service;
  const { client: platform } = landscape.platform;
  const [reader, other] = await Promise.all(['reader', 'other'].map((name) => accountToken(platform, name)));
  await letReadMetrics(platform, 'reader');
  await stage.redis.kill();
  await eventually('it is not ready', async () => (await readiness(readyUrl)).status === 503);
  // Why is for whoever may read metrics.
  for (const token of [undefined, 'nobody', other])
    expect(await readiness(readyUrl, token)).toEqual({ status: 503, text: 'not ready\n' });
  await eventually('the right is known', async () => (await readiness(readyUrl, reader)).text !== 'not ready\n');
  expect((await readiness(readyUrl, reader)).text).toMatch(/Redis is not connected/);
  expect(readFileSync(service.logFile, 'utf8')).toMatch(
    /"problems":\["[^\n]*Redis is not connected[^\n]*"msg":"not ready"/,
  );
  // Another process could do no more.
  expect((await fetch(readyUrl.replace('readyz', 'healthz'))).status).toBe(200);
  await stage.redis.restartEmpty();
  await eventually('it is ready again', async () => (await fetch(service?.readyUrl ?? '')).status === 200);
  await service.stop();
  expect(service.exitCode).toBe(0);
});
