import { FunctionRuntime } from '../../functions/runtime.ts';
import { createFunctionServer } from '../../functions/host/server.ts';
import type { FunctionName } from '../../shared/events/catalogue.ts';
import { parseBindAddress } from './bind-address.ts';
import { AccessReviews, detailsFor } from './metrics-access.ts';
import { openOnboarding } from './onboarding.ts';
import { followReach } from './reach.ts';
import { concurrencyOf, functionSettings } from './settings.ts';
import { type CommonOptions, setUp } from './setup.ts';
import { tokenFile } from './token-file.ts';
import { toldToEnd } from './shutdown.ts';
import { DEFAULT_SERVE_ADDRESS, SHUTDOWN_PATIENCE_MS } from './tuning.ts';

export interface ServeOptions extends CommonOptions {
  bindAddress?: string;
  tokenFile?: string;
}

/**
 * `service-provider serve <function>`: the function as an HTTP service, without a queue. Starts from zero and ends when it
 * is told to: new events are refused at once, what runs gets its time, and is then handed back by its reply.
 */
export async function serve(functionName: FunctionName, options: ServeOptions): Promise<void> {
  const setup = await setUp(options, { redis: false });
  const { env, provider, platform, files, log } = setup;
  // Knative says by PORT where it expects the service.
  const address = options.bindAddress ?? (env.PORT === undefined ? DEFAULT_SERVE_ADDRESS : `:${env.PORT}`);
  const bind = parseBindAddress(address, '--bind-address');
  const token = await tokenFile(options.tokenFile, files);
  const onboarding = await openOnboarding(setup);
  const runtime = new FunctionRuntime({
    provider,
    platform,
    onboarding: onboarding.client,
    ...functionSettings(env),
    log,
  });
  const reach = followReach({ provider, platform, onboarding, namespace: env.POD_NAMESPACE });
  const server = createFunctionServer({
    provider: provider.name,
    functionName,
    invoke: (event, hold) => runtime.invoke(functionName, event, hold),
    concurrency: concurrencyOf(env, functionName),
    holdMs: env.RUN_LIMIT,
    token,
    // Objects of a kcp workspace have nothing to do with the onboarding cluster.
    problems: (mode) => [...files.problems(), ...(mode === 'kcp' ? [] : onboarding.problems())],
    lacks: reach.problems,
    mayReadDetails: detailsFor(new AccessReviews(platform)),
    log,
  });
  const port = bind && (await server.listen(bind));
  log.info({ function: functionName, port }, 'started');
  await toldToEnd(log);
  log.info({ running: server.running }, 'stopping');
  onboarding.stop();
  reach.stop();
  server.drain();
  const patience = setTimeout(() => runtime.shutdown(), SHUTDOWN_PATIENCE_MS);
  await server.close();
  clearTimeout(patience);
  log.info('stopped');
}
