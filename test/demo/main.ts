import { once } from 'node:events';
import { join } from 'node:path';
import { styleText } from 'node:util';
import { startRuntime } from '../../deploy/command/compose.ts';
import { foo } from '../../functions/providers/foo/provider.ts';
import { createLogger } from '../../shared/log.ts';
import { startKcp } from '../control-planes/kcp.ts';
import { startRedis } from '../control-planes/redis.ts';
import { createLandscape, type Landscape } from '../support/landscape.ts';
import { SYSTEM_NAMESPACE } from '../support/landscape-options.ts';
import { createRunFolder } from '../support/run-folder.ts';
import { installProvider, PROVIDER_NAMESPACE } from '../support/service.ts';
import { printPlayground, writeTenantKubeconfig } from './playground.ts';
import { heading, printStep, say, table, timed } from './print.ts';
import { type Actor, kcpActor, RESULT_HEADER, resultRow, standardActor } from './scene.ts';
import { teardownOrder, watchTeardown } from './teardown.ts';

/** Short, so that a Redis that has just been started is trusted soon. */
const LEASE_MS = 3_000;

async function demo(onceOnly: boolean, stack: AsyncDisposableStack, folder: string): Promise<void> {
  heading('Starting a landscape of real control planes on this machine');
  say(`  data and logs: ${folder}`);
  const kcp = await timed(
    'kcp',
    () => startKcp({ dir: join(folder, 'kcp') }),
    ({ server }) => server,
  );
  stack.defer(() => kcp.stop());
  const redis = await timed(
    'Redis',
    () => startRedis({ dir: join(folder, 'redis') }),
    ({ url }) => url,
  );
  stack.defer(() => redis.stop());
  const landscape = await timed('openmcp-operator, platform and onboarding cluster', () =>
    createLandscape({ kcp, dir: folder, name: 'demo' }),
  );
  stack.defer(() => landscape.stop());
  await timed('types, kcp access and ProviderConfig of Foo', () => installProvider(landscape, foo, { kcp: true }));

  const logFile = join(folder, 'runtime.log');
  const runtime = await timed(
    'service provider runtime (bridge and 4 functions)',
    () =>
      startRuntime({
        provider: foo,
        platform: landscape.platform.client,
        onboarding: landscape.onboarding.client,
        redis: { url: redis.url },
        providerNamespace: PROVIDER_NAMESPACE,
        leaseMs: LEASE_MS,
        onStep: printStep,
        log: createLogger('debug', foo.name, logFile),
      }),
    () => logFile,
  );
  stack.defer(() => runtime.stop());

  const standard = await timed('tenant alice: a ControlPlane', () => standardActor(landscape));
  const inKcp = await timed('tenant bob: a kcp workspace, APIExport bound', () => kcpActor(landscape));
  const actors: Actor[] = [standard, inKcp];

  heading('One Foo in each mode. A line a step: when, mode, object, event, function, duration, decision');
  await Promise.all(actors.map(({ orders, name }) => orders.create(name, `hello ${name}`)));
  await Promise.all(actors.map(({ orders, name }) => orders.untilReady(name)));
  const workload = await landscape.clusterClient(SYSTEM_NAMESPACE, 'workload');
  heading('Both are Ready');
  table([RESULT_HEADER, ...(await Promise.all(actors.map((actor) => resultRow(actor, workload))))]);

  if (onceOnly) return removeAll(landscape, actors, workload);
  printPlayground({ landscape, tenantKubeconfig: writeTenantKubeconfig(landscape, inKcp.workspace), actors, logFile });
  await Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')]);
  heading('Stopping');
}

async function removeAll(landscape: Landscape, actors: Actor[], workload: Landscape['platform']['client']) {
  const history = await watchTeardown(landscape.platform.client, workload, actors);
  heading('Deleting both');
  await Promise.all(actors.map(({ orders, name }) => orders.remove(name)));
  await Promise.all(actors.map(({ orders, name }) => orders.untilGone(name)));
  history.stop();
  for (const actor of actors) {
    heading(`Order of the teardown, ${actor.mode} mode`);
    for (const [position, line] of teardownOrder(history, actor).entries()) say(`  ${position + 1}. ${line}`);
  }
}

const folder = createRunFolder('service-provider-runtime-demo');
const stack = new AsyncDisposableStack();
try {
  await demo(process.argv.includes('--once'), stack, folder.path);
  await stack.disposeAsync();
  folder.remove();
  say(styleText('green', '\nAll stopped; nothing is left behind.'));
} catch (error) {
  say(styleText('red', `\nThe demo failed: ${error instanceof Error ? error.message : String(error)}`));
  await stack.disposeAsync().catch(() => undefined);
  say(`Data and logs are kept in ${folder.path}`);
  process.exitCode = 1;
}
process.exit();
