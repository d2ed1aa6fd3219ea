import { createDispatcher, type RunningDispatcher } from '../../functions/host/dispatcher.ts';
import { dispatcherTimes } from '../../functions/host/dispatcher-times.ts';
import type { Invoke } from '../../functions/host/deliver.ts';
import { RuntimeError } from '../../shared/errors.ts';
import { FUNCTION_NAMES, type FunctionName } from '../../shared/events/catalogue.ts';
import { authorityProblem } from '../../shared/kube/pem.ts';
import { attend, type AttendedOptions, checkAttended } from './attend.ts';
import { refuseClearText } from './clear-text.ts';
import { createMetrics } from './metrics.ts';
import { openQueue } from './queue.ts';
import { concurrencyOf, jobSettings, redisSettings } from './settings.ts';
import { refuse, settingsFile } from './settings-file.ts';
import { setUpProcess } from './setup.ts';
import { tokenFile } from './token-file.ts';
import { leaseTimes, startWorkers } from './workers.ts';

export interface DispatchOptions extends AttendedOptions {
  /** `<function>=<address>` each. */
  to: string[];
  tokenFile?: string;
  caFile?: string;
}

/** `service-provider dispatch`: takes jobs of the named functions and sends them to where those are served. */
export async function dispatch(options: DispatchOptions): Promise<void> {
  const { env, name, files, log } = await setUpProcess(options, { redis: true });
  checkAttended(options, { knowsCluster: false });
  const addresses = functionAddresses(options.to);
  if (options.tokenFile !== undefined) for (const address of addresses.values()) refuseClearText(address, '--to');
  const redis = redisSettings(env);
  const token = await tokenFile(options.tokenFile, files);
  const ca = options.caFile === undefined ? undefined : settingsFile(options.caFile, '--ca-file');
  refuse('--ca-file', authorityProblem(ca));
  const queue = openQueue(redis, name, log);
  const metrics = createMetrics(name);
  const stopping = new AbortController();
  const dispatchers = new Map<FunctionName, RunningDispatcher>();
  for (const [functionName, address] of addresses)
    dispatchers.set(
      functionName,
      createDispatcher({
        address,
        token,
        ca,
        runLimitMs: env.RUN_LIMIT,
        coldStartMs: env.COLD_START_LIMIT,
        concurrency: concurrencyOf(env, functionName),
        stop: stopping.signal,
        log: log.child({ function: functionName }),
      }),
    );
  const workers = startWorkers(
    queue,
    dispatcherTimes(env.RUN_LIMIT, leaseTimes(env.LEASE_DURATION), env.COLD_START_LIMIT),
    {
      provider: name,
      functions: [...addresses.keys()],
      redis,
      ...jobSettings(env),
      onStep: metrics.step,
      log,
    },
    (functionName) => dispatchers.get(functionName)?.invoke as Invoke,
    () => stopping.abort(),
  );
  metrics.watch(async () => ({ queue: await queue.stats(), bridge: undefined }));
  const problems = (): string[] => [...files.problems(), ...queue.problems()];
  await attend(options, { provider: name, platform: undefined, metrics, problems, log });
  await workers.stop();
  await Promise.all([...dispatchers.values()].map((dispatcher) => dispatcher.close()));
  await queue.close();
  log.info('stopped');
}

/** @throws RuntimeError `INVALID_SETTINGS` naming the part of `--to` that is wrong */
export function functionAddresses(given: readonly string[]): ReadonlyMap<FunctionName, string> {
  const addresses = new Map<FunctionName, string>();
  for (const one of given) {
    const [, name, address = ''] = /^([^=]+)=(.+)$/.exec(one) ?? [];
    const known = FUNCTION_NAMES.find((each) => each === name);
    if (!known || !URL.canParse(address) || !/^https?:$/.test(new URL(address).protocol))
      throw new RuntimeError(
        'INVALID_SETTINGS',
        `--to ${one}: expected <function>=<address>, such as provider-install=http://provider-install.foo.svc; ` +
          `functions are ${FUNCTION_NAMES.join(', ')}`,
      );
    if (addresses.has(known))
      throw new RuntimeError('INVALID_SETTINGS', `--to ${one}: ${known} has an address already`);
    addresses.set(known, address);
  }
  if (addresses.size === 0)
    throw new RuntimeError('INVALID_SETTINGS', '--to: name at least one function as <function>=<address>');
  return addresses;
}
