import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import foo from '../../functions/providers/foo/provider.ts';
import { formatKubeconfig } from '../../shared/kube/kubeconfig.ts';
import { startProcess } from '../control-planes/processes.ts';
import { answersOk } from '../control-planes/readiness.ts';
import { freePort } from '../control-planes/ports.ts';
import { FrozenProxy } from '../support/frozen-proxy.ts';
import { KcpTenants } from '../support/kcp-tenants.ts';
import { problemsIn } from '../support/problems.ts';
import { COMMAND, FOO_MODULE, ROOT, type ServiceProcess, startServiceProcess } from '../support/service-process.ts';
import { KCP_SECRET, PROVIDER_NAMESPACE } from '../support/service.ts';
import { createStage, type Stage } from '../support/stage.ts';
import { writeKcpSecret } from '../support/own-kcp.ts';
import { eventually } from '../support/wait.ts';

/** What `/readyz` promises, however a server stands still. */
const SOON = { timeout: 30_000 };

/** Each server that a process needs, behind a proxy of its own; connections stay open, and nothing passes any more. */
type Server = 'platform' | 'onboarding' | 'kcp' | 'redis';
const NAMED: Record<Server, RegExp> = {
  platform: /^platform cluster: GET https/m,
  onboarding: /^onboarding cluster: foos: GET https/m,
  kcp: /^kcp: root:\S*: GET https/m,
  redis: /^Redis/m,
};

let stage: Stage;
let env: Record<string, string>;
const proxies = new Map<Server, FrozenProxy>();
const processes = new Map<string, ServiceProcess>();

/** `serve` answers probes where it takes events. */
async function startServe(env: Record<string, string>): Promise<ServiceProcess> {
  const port = await freePort();
  const readyUrl = `http://127.0.0.1:${port}/readyz`;
  const logFile = join(stage.landscape.dir, 'frozen-serve.log');
  const managed = await startProcess({
    name: 'service-provider serve',
    command: process.execPath,
    args: [COMMAND, 'serve', 'provider-install', '--provider', FOO_MODULE, '--provider-name', 'foo'],
    logFile,
    cwd: ROOT,
    env: { POD_NAMESPACE: PROVIDER_NAMESPACE, ...env, PORT: String(port) },
    ready: () => answersOk(readyUrl),
  });
  return Object.assign(managed, { readyUrl, logFile });
}

beforeAll(async () => {
  stage = await createStage({ provider: foo, kcp: true });
  const { landscape, redis } = stage;
  const { ca } = landscape.kcp.adminCredentials;
  for (const [name, target] of [
    ['platform', landscape.kcp.server],
    ['onboarding', landscape.kcp.server],
    ['kcp', landscape.kcp.server],
    ['redis', redis.url],
  ] as const)
    proxies.set(name, await FrozenProxy.to(target));
  const through = (name: Server, server: string): string => server.replace(/:\d+(?=\/)/, `:${proxies.get(name)?.port}`);
  const kubeconfig = (name: 'platform' | 'onboarding'): string => {
    const file = join(landscape.dir, `frozen-${name}.kubeconfig`);
    const server = through(name, landscape[name].client.server);
    writeFileSync(file, formatKubeconfig({ ...landscape.kcp.adminCredentials, server }));
    return file;
  };
  await writeKcpSecret(
    landscape,
    KCP_SECRET,
    formatKubeconfig({
      ...landscape.kcp.adminCredentials,
      ca,
      server: through('kcp', landscape.services.client.server),
    }),
  );
  env = {
    KUBECONFIG: kubeconfig('platform'),
    ONBOARDING_KUBECONFIG: kubeconfig('onboarding'),
    REDIS_URL: `redis://127.0.0.1:${proxies.get('redis')?.port}`,
    // Nobody is there.
    HTTPS_PROXY: 'http://127.0.0.1:9',
  };
  const start = (args: string[]): Promise<ServiceProcess> =>
    startServiceProcess({ args, dir: landscape.dir, provider: FOO_MODULE, env });
  processes.set('bridge', await start(['bridge']));
  processes.set('worker', await start(['function', 'provider-install']));
  processes.set('run', await start(['run']));
  processes.set('dispatch', await start(['dispatch', '--to', 'provider-install=http://127.0.0.1:9']));
  processes.set('serve', await startServe(env));
  // The bridge has made what is bound.
  await new KcpTenants(stage).bound('frozen');
}, 300_000);

afterAll(async () => {
  for (const proxy of proxies.values()) proxy.thaw();
  await Promise.all([...processes.values()].map((each) => each.stop()));
  for (const proxy of proxies.values()) proxy.close();
  await stage?.stop();
});

const CLUSTERS = ['bridge', 'worker', 'run', 'serve'];
const QUEUE = ['bridge', 'worker', 'run', 'dispatch'];

test('a proxy that the environment names is not used, and that is said', () => {
  for (const { logFile } of processes.values())
    expect(readFileSync(logFile, 'utf8')).toContain('HTTPS_PROXY: proxies are not used');
});

test('a process that starts while all stand still waits, and is ready afterwards', async () => {
  for (const proxy of proxies.values()) proxy.freeze();
  const port = await freePort();
  const at = (path: string): string => `http://127.0.0.1:${port}${path}`;
  const late = await startProcess({
    name: 'service-provider run',
    command: process.execPath,
    args: [COMMAND, 'run', '--provider', FOO_MODULE, `--health-probe-bind-address=127.0.0.1:${port}`],
    logFile: join(stage.landscape.dir, 'frozen-late.log'),
    cwd: ROOT,
    env: { POD_NAMESPACE: PROVIDER_NAMESPACE, ...env },
    ready: () => answersOk(at('/healthz')),
  });
  expect((await fetch(at('/readyz'))).status).toBe(503);
  for (const proxy of proxies.values()) proxy.thaw();
  await eventually('it is ready', () => answersOk(at('/readyz')));
  await late.stop();
  expect(late.exitCode).toBe(0);
});

describe('a server that stands still behind connections that stay', () => {
  test.each<[Server, string[]]>([
    ['platform', CLUSTERS],
    ['onboarding', CLUSTERS],
    ['kcp', CLUSTERS],
    ['redis', QUEUE],
  ])('%s: is named by each process that needs it, by no other, and none is restarted', async (server, concerned) => {
    const notReady = async (name: string): Promise<boolean> =>
      (await fetch((processes.get(name) as ServiceProcess).readyUrl)).status === 503;
    const problems = (name: string): string => problemsIn((processes.get(name) as ServiceProcess).logFile);
    const untilAllReady = (): Promise<unknown> =>
      eventually('all are ready', async (seen) => {
        const states = await Promise.all(
          [...processes.keys()].map(async (name) => [name, await notReady(name)] as const),
        );
        const waiting = states.filter(([, not]) => not).map(([name]) => `${name}: ${problems(name)}`);
        seen(waiting);
        return waiting.length === 0;
      });
    await untilAllReady();
    proxies.get(server)?.freeze();
    await eventually(
      'each says so',
      async (seen) => {
        const said = await Promise.all(
          concerned.map(async (name) => [name, (await notReady(name)) && NAMED[server].test(problems(name))] as const),
        );
        seen(said);
        return said.every(([, is]) => is);
      },
      SOON,
    );
    const others = [...processes.keys()].filter((name) => !concerned.includes(name));
    expect(await Promise.all(others.map(notReady))).toEqual(others.map(() => false));
    for (const { readyUrl } of processes.values())
      expect((await fetch(readyUrl.replace('readyz', 'healthz'))).status).toBe(200);
    proxies.get(server)?.thaw();
    await untilAllReady();
    expect([...processes.values()].map(({ exitCode }) => exitCode)).toEqual([...processes].map(() => null));
  });
});
