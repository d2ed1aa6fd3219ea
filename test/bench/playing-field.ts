import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { foo } from '../../functions/providers/foo/provider.ts';
import { CLUSTER_REQUESTS } from '../../shared/kube/resources.ts';
import type { Provider } from '../../shared/provider/provider.ts';
import type { KubeObject, ServiceObject } from '../../shared/model/kubernetes.ts';
import { mcpNamespace } from '../../shared/names.ts';
import { startKcp } from '../control-planes/kcp.ts';
import { startProcess, type ManagedProcess } from '../control-planes/processes.ts';
import { freePort } from '../control-planes/ports.ts';
import { answersOk } from '../control-planes/readiness.ts';
import { startRedis, type StartedRedis } from '../control-planes/redis.ts';
import { ensureNamespace } from '../support/cluster-provider/access.ts';
import { createLandscape, type Landscape } from '../support/landscape.ts';
import { isReady } from '../support/orders.ts';
import { createRunFolder } from '../support/run-folder.ts';
import { installProvider, PROVIDER_NAMESPACE } from '../support/service.ts';

/** A landscape in which requests are granted at once, so that what asks is measured and not what answers. */
export interface PlayingField extends AsyncDisposable {
  readonly landscape: Landscape;
  readonly redis: StartedRedis;
  readonly folder: string;
  readonly env: Record<string, string>;
  /** The provider's module, from the sources' root. */
  readonly module: string;
}

export async function createPlayingField(
  provider: Provider = foo,
  module = 'functions/providers/foo/provider.ts',
): Promise<PlayingField> {
  await using stack = new AsyncDisposableStack();
  const folder = createRunFolder('service-provider-runtime-bench');
  stack.defer(() => folder.remove());
  const kcp = await startKcp({ dir: join(folder.path, 'kcp') });
  stack.defer(() => kcp.stop());
  const redis = await startRedis({ dir: join(folder.path, 'redis') });
  stack.defer(() => redis.stop());
  const landscape = await createLandscape({ kcp, dir: folder.path, name: 'bench', answers: 'instant' });
  stack.defer(() => landscape.stop());
  await installProvider(landscape, provider, { config: { pollInterval: '0s' } });
  const started = stack.move();
  return {
    landscape,
    redis,
    folder: folder.path,
    module,
    env: {
      KUBECONFIG: landscape.platform.kubeconfigPath,
      ONBOARDING_KUBECONFIG: landscape.onboarding.kubeconfigPath,
      POD_NAMESPACE: PROVIDER_NAMESPACE,
      LEASE_DURATION: '3s',
    },
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  };
}

/** What the platform has made for control planes of these names before anything is ordered for them. */
export async function prepareControlPlanes({ landscape }: PlayingField, namespace: string, names: readonly string[]) {
  const platform = landscape.platform.client;
  await ensureNamespace(landscape.onboarding.client, namespace);
  await inParallel(names, 20, async (name) => {
    const there = mcpNamespace(name, namespace);
    await ensureNamespace(platform, there);
    await platform.create(CLUSTER_REQUESTS, {
      metadata: { name, namespace: there },
      spec: { purpose: 'mcp' },
    } as KubeObject);
  });
}

export async function createFoos({ landscape }: PlayingField, namespace: string, names: readonly string[]) {
  await inParallel(names, 20, async (name) => {
    const object = { metadata: { name, namespace }, spec: { foo: 'one' } };
    await landscape.onboarding.client.create<ServiceObject>(foo.api.type, object);
  });
}

/** Resolves when all of a namespace's Foos are as wanted. @returns the milliseconds that took */
export async function untilAll(
  { landscape }: PlayingField,
  namespace: string,
  count: number,
  wanted: 'ready' | 'gone',
): Promise<number> {
  const started = performance.now();
  for (;;) {
    const { items } = await landscape.onboarding.client.list<ServiceObject>(foo.api.type, { namespace });
    if (wanted === 'gone' ? items.length === 0 : items.filter(isReady).length >= count)
      return performance.now() - started;
    if (performance.now() - started > 600_000) throw new Error(`not all ${wanted} within 10 minutes`);
    await sleep(200);
  }
}

export async function inParallel<T>(
  items: readonly T[],
  most: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const waiting = items.values();
  const one = async (): Promise<void> => {
    for (const item of waiting) await work(item);
  };
  await Promise.all(Array.from({ length: most }, one));
}

const ROOT = join(import.meta.dirname, '..', '..');

/** The command, compiled as in the image where that was given (`BUILT`), else from its sources. */
export function command(module: string): { main: string; provider: string; cwd: string; node: string[] } {
  const built = process.env['BUILT'];
  if (built === undefined || !existsSync(built))
    return {
      main: join(ROOT, 'deploy/command/main.ts'),
      provider: join(ROOT, module),
      cwd: ROOT,
      node: [],
    };
  return {
    main: join(built, 'deploy/command/main.js'),
    provider: join(built, module.replace(/\.ts$/, '.js')),
    cwd: built,
    node: (process.env['BUILT_NODE_OPTIONS'] ?? '').split(' ').filter(Boolean),
  };
}

export interface MeasuredProcess extends ManagedProcess {
  /** From its start until it answered that it is ready, in milliseconds. */
  readonly readyAfterMs: number;
  readonly port: number;
}

let started = 0;

/** @param port flags that bind the address of probes to a port */
export async function startCommand(
  field: PlayingField,
  args: readonly string[],
  env: Record<string, string> = {},
  portFlag: '--health-probe-bind-address' | '--bind-address' = '--health-probe-bind-address',
): Promise<MeasuredProcess> {
  const { main, provider, cwd, node } = command(field.module);
  const port = await freePort();
  const begin = performance.now();
  const managed = await startProcess({
    name: args.join(' '),
    command: process.execPath,
    args: [...node, main, ...args, '--provider', provider, '--provider-name', 'foo', portFlag, `127.0.0.1:${port}`],
    logFile: join(field.folder, `bench-${++started}-${args[0]}.log`),
    cwd,
    env: { ...field.env, REDIS_URL: field.redis.url, MALLOC_ARENA_MAX: '1', ...env },
    ready: () => answersOk(`http://127.0.0.1:${port}/readyz`),
  });
  return Object.assign(managed, { readyAfterMs: performance.now() - begin, port });
}

/** Resident memory now and at its highest, in MiB. */
export function memoryOf(pid: number): { now: number; most: number } {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const of = (field: string): number =>
    Math.round(Number(new RegExp(`^${field}:\\s+(\\d+)`, 'm').exec(status)?.[1]) / 1024);
  return { now: of('VmRSS'), most: of('VmHWM') };
}
