import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import foo, { configMapName } from '../../functions/providers/foo/provider.ts';
import { ACCESS_REQUESTS, CLUSTER_REQUESTS } from '../../shared/kube/resources.ts';
import type { ControlPlane } from '../support/control-plane.ts';
import type { History } from '../support/history.ts';
import { isReady } from '../support/orders.ts';
import { configMapValue, requestsIn } from '../support/requests.ts';
import { writeProviderConfig } from '../support/service.ts';
import { CALL_MS, Desk, ROOT, type ServiceProcess, startServiceProcess } from '../support/service-process.ts';
import { createStage, PROJECT, QUICK_ENV, type Stage } from '../support/stage.ts';
import { eventually } from '../support/wait.ts';
import { brokenPromises, type Evidence } from './check.ts';
import { PROCESSES, type ProcessName, type Step } from './script.ts';

const REST_MS = 150_000;

export interface RunOptions {
  /** Of the sources that run; default: these. */
  readonly root?: string;
  /** How long it may take to come to rest; longer, and it is said to hang. */
  readonly restMs?: number;
}

/** A landscape and the processes of a runtime, on which one script after another is run. */
export class FaultRun {
  readonly #stage: Stage;
  readonly #controlPlanes: ReadonlyMap<string, ControlPlane>;
  readonly #options: Required<RunOptions>;
  readonly #history: History;
  readonly #desk: Desk;
  readonly #processes = new Map<ProcessName, ServiceProcess>();
  /** By name, what each object was given last. */
  readonly #wanted = new Map<string, string | undefined>();
  #creations = 0;

  private constructor(
    stage: Stage,
    controlPlanes: ReadonlyMap<string, ControlPlane>,
    history: History,
    options: Required<RunOptions>,
  ) {
    this.#stage = stage;
    this.#controlPlanes = controlPlanes;
    this.#options = options;
    this.#history = history;
    this.#desk = new Desk(join(stage.landscape.dir, 'desk'));
  }

  static async start(objects: number, { root = ROOT, restMs = REST_MS }: RunOptions = {}): Promise<FaultRun> {
    const stage = await createStage({ provider: foo, config: { pollInterval: '0s' }, answers: 'instant' });
    const names = Array.from({ length: objects }, (_, index) => `o${index}`);
    const made = await Promise.all(names.map((name) => stage.landscape.createControlPlane(PROJECT, name)));
    const { platform, onboarding } = stage.landscape;
    const history = await stage.record(
      { client: platform.client, types: [ACCESS_REQUESTS, CLUSTER_REQUESTS] },
      { client: onboarding.client, types: [foo.api.type] },
    );
    const controlPlanes = new Map(made.map((one) => [one.name, one]));
    const run = new FaultRun(stage, controlPlanes, history, { root, restMs });
    await Promise.all(PROCESSES.map((name) => run.#start(name)));
    return run;
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#processes.values()].map((each) => each.stop()));
    await this.#stage.stop();
  }

  /** Does all steps, lets it come to rest, and says which promises were broken. */
  async play(script: readonly Step[]): Promise<string[]> {
    for (const step of script) await this.#do(step);
    const hanging = await this.#rest().catch((error: unknown) => [
      `it does not come to rest: ${error instanceof Error ? error.message : String(error)}`,
    ]);
    return [...(hanging ?? []), ...brokenPromises(await this.#evidence()), ...this.#history.interruptions];
  }

  async #do(step: Step): Promise<void> {
    const { orders, redis, landscape } = this.#stage;
    switch (step.do) {
      case 'create': {
        if (await orders.read(step.name)) return;
        const value = `n${++this.#creations}`;
        await orders.create(step.name, value);
        this.#wanted.set(step.name, value);
        return;
      }
      case 'change': {
        if (this.#wanted.get(step.name) === undefined) return;
        await orders.change(step.name, step.value);
        this.#wanted.set(step.name, step.value);
        return;
      }
      case 'remove': {
        if (this.#wanted.get(step.name) === undefined) return;
        await orders.remove(step.name);
        this.#wanted.set(step.name, undefined);
        return;
      }
      case 'config':
        return writeProviderConfig(landscape, foo, { config: { pollInterval: step.interval } });
      case 'kill':
        return this.#kill(step.process);
      case 'freeze':
        return this.#freeze(step.process, step.ms);
      case 'wipe':
        await redis.command('FLUSHALL');
        return;
      case 'lose-redis':
        return redis.restartEmpty();
      case 'pause':
        await sleep(step.ms);
    }
  }

  async #kill(name: ProcessName): Promise<void> {
    const process = this.#processes.get(name);
    if (!process) return;
    await process.kill();
    this.#desk.killed(process.pid);
    await this.#start(name);
  }

  async #freeze(name: ProcessName | 'redis', ms: number): Promise<void> {
    const frozen = name === 'redis' ? this.#stage.redis : this.#processes.get(name);
    frozen?.signal('SIGSTOP');
    // What it was in the middle of has no right to anything when it comes back.
    if (frozen && name !== 'redis') this.#desk.killed(frozen.pid);
    await sleep(ms);
    frozen?.signal('SIGCONT');
  }

  async #start(name: ProcessName): Promise<void> {
    const { landscape, env } = this.#stage;
    const process = await startServiceProcess({
      args: name === 'bridge' ? [name] : ['function', name],
      dir: landscape.dir,
      root: this.#options.root,
      verbosity: 'info',
      env: { ...env, ...QUICK_ENV, ...this.#desk.env, [CALL_MS]: '150' },
    });
    this.#processes.set(name, process);
  }

  /** Every object is as it was wanted last, or gone with all that it had. */
  async #rest(): Promise<undefined> {
    const { orders } = this.#stage;
    await Promise.all(
      [...this.#wanted].map(([name, value]) =>
        eventually(
          `${name} is ${value === undefined ? 'gone' : 'Ready'}`,
          async (seen) => {
            const object = await orders.read(name);
            seen(object && { metadata: object.metadata, status: object.status });
            return value === undefined ? object === undefined : object !== undefined && isReady(object);
          },
          { timeout: this.#options.restMs },
        ),
      ),
    );
    await this.#stage.idle();
    return undefined;
  }

  async #evidence(): Promise<Evidence> {
    const { landscape } = this.#stage;
    const each = async <T>(read: (controlPlane: ControlPlane) => Promise<T>): Promise<Map<string, T>> => {
      const concerned = [...this.#controlPlanes.values()].filter(({ name }) => this.#wanted.has(name));
      return new Map(await Promise.all(concerned.map(async (one) => [one.name, await read(one)] as const)));
    };
    return {
      journal: this.#desk.journal,
      history: this.#history.entries,
      kind: foo.api.type.kind,
      wanted: this.#wanted,
      installed: await each(({ client, name }) => configMapValue(client, configMapName(`${PROJECT}/${name}`))),
      requests: await each(async ({ platformNamespace }) => {
        const found = await requestsIn(landscape.platform.client, platformNamespace, `${foo.controllerName}--`);
        // Who grants at once leaves its Secrets.
        return found.filter((one) => !one.startsWith('Secret/'));
      }),
    };
  }
}
