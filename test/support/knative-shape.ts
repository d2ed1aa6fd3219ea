import { join } from 'node:path';
import { FUNCTION_NAMES, type FunctionName } from '../../shared/events/catalogue.ts';
import { freePort } from '../control-planes/ports.ts';
import { startProcess } from '../control-planes/processes.ts';
import { answersOk } from '../control-planes/readiness.ts';
import { Activator, type ActivatedService } from './activator.ts';
import { COMMAND, Desk, JOURNALLED_MODULE, ROOT, type ServiceProcess, startServiceProcess } from './service-process.ts';
import { PROVIDER_NAMESPACE } from './service.ts';
import { QUICK_ENV, type Stage } from './stage.ts';

/** Functions as Knative runs them, on one machine: four services that scale to zero, a dispatcher, and the bridge. */
export interface KnativeShape {
  readonly desk: Desk;
  readonly activators: ReadonlyMap<FunctionName, Activator>;
  readonly bridge: ServiceProcess;
  dispatcher(): ServiceProcess;
  /** SIGKILL; another is started. */
  killDispatcher(): Promise<void>;
  /** SIGKILL, in the middle of whatever it does. */
  killService(name: FunctionName): Promise<void>;
  stop(): Promise<void>;
}

export interface KnativeOptions {
  idleMs: number;
  env: Record<string, string>;
}

export async function startKnativeShape(stage: Stage, { idleMs, env: more }: KnativeOptions): Promise<KnativeShape> {
  const { platform, onboarding, dir } = stage.landscape;
  const desk = new Desk(dir);
  const env = {
    ...desk.env,
    KUBECONFIG: platform.kubeconfigPath,
    ONBOARDING_KUBECONFIG: onboarding.kubeconfigPath,
    POD_NAMESPACE: PROVIDER_NAMESPACE,
    ...QUICK_ENV,
    COLD_START_LIMIT: '5s',
    ...more,
  };
  const withQueue = { ...env, REDIS_URL: stage.redis.url };
  const activators = new Map<FunctionName, Activator>();
  const addresses: string[] = [];
  for (const name of FUNCTION_NAMES) {
    const activator = new Activator({ idleMs, start: () => startServe(name, dir, env) });
    activators.set(name, activator);
    addresses.push(`${name}=${await activator.listen()}`);
  }
  const startDispatcher = (): Promise<ServiceProcess> =>
    startServiceProcess({ args: ['dispatch', '--to', ...addresses], dir, env: withQueue });
  const bridge = await startServiceProcess({ args: ['bridge', '--dispatched'], dir, env: withQueue });
  let dispatcher = await startDispatcher();
  return {
    desk,
    activators,
    bridge,
    dispatcher: () => dispatcher,
    async killDispatcher() {
      await dispatcher.kill();
      dispatcher = await startDispatcher();
    },
    async killService(name) {
      const activator = activators.get(name);
      const service = await activator?.service();
      if (!service) throw new Error(`${name} is scaled to zero`);
      await service.process.kill();
      desk.killed(service.process.pid);
      activator?.forget();
    },
    async stop() {
      await dispatcher.stop();
      await bridge.stop();
      await Promise.all([...activators.values()].map((activator) => activator.stop()));
    },
  };
}

let served = 0;

async function startServe(name: FunctionName, dir: string, env: Record<string, string>): Promise<ActivatedService> {
  const port = await freePort();
  const process = await startProcess({
    name: `serve ${name}`,
    command: globalThis.process.execPath,
    args: [COMMAND, 'serve', name, '--provider', JOURNALLED_MODULE, '--provider-name', 'foo', '--verbosity', 'debug'],
    logFile: join(dir, `serve-${++served}-${name}.log`),
    cwd: ROOT,
    env: { ...env, PORT: String(port) },
    ready: () => answersOk(`http://127.0.0.1:${port}/readyz`),
  });
  return { process, port };
}
