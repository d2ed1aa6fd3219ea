#!/usr/bin/env node
import { Argument, Command, Option } from 'commander';
import { messageOf, RuntimeError } from '../../shared/errors.ts';
import { FUNCTION_NAMES, type FunctionName } from '../../shared/events/catalogue.ts';
import { redact } from '../../shared/redact.ts';
import type { DispatchOptions } from './dispatch.ts';
import type { OrphansOptions } from './orphans.ts';
import type { PublishOptions } from './publish.ts';
import type { Parts, RunOptions } from './run.ts';
import type { ServeOptions } from './serve.ts';
import type { CommonOptions } from './setup.ts';

const program = new Command('service-provider').description(
  'Runs a service provider for OpenControlPlane and kcp. Settings come from flags and from environment variables.',
);

/** The flags that the operator passes to every provider, in both of its calls. */
function command(name: string, description: string): Command {
  return program
    .command(name)
    .description(description)
    .option(
      '--provider <module>',
      'module whose default export is the provider (default: "serviceProvider" in package.json)',
    )
    .option('--provider-name <name>', 'name of the provider and of its ProviderConfig')
    .option('--environment <name>', 'name of the environment')
    .option('--verbosity <level>', 'error, warn, info, debug or trace', 'info');
}

/** As Go takes it: `--flag`, `--flag=true`, `--flag=false`. */
function flag(name: string, description: string, preset: boolean): Option {
  return new Option(`--${name} [boolean]`, description).default(preset).argParser((value) => {
    if (value === 'true' || value === 'false') return value === 'true';
    throw new RuntimeError('INVALID_SETTINGS', `--${name} ${value}: expected true or false`);
  });
}

/** A command that runs until it is told to end. */
function attended(name: string, description: string): Command {
  return command(name, description)
    .option('--health-probe-bind-address <address>', 'address of /healthz and /readyz; 0 for none', ':8081')
    .option('--metrics-bind-address <address>', 'address of /metrics, such as :8443; 0 for none', '0')
    .addOption(flag('metrics-secure', 'serve /metrics by HTTPS, to whom the platform cluster lets read it', true))
    .option('--metrics-cert-path <folder>', 'folder of the certificate for /metrics (default: one of our own making)')
    .option('--metrics-cert-name <file>', 'name of the certificate file', 'tls.crt')
    .option('--metrics-cert-key <file>', 'name of the key file', 'tls.key');
}

function worker(name: string, description: string): Command {
  return attended(name, description)
    .addOption(flag('leader-elect', 'several replicas choose one of them for each mode', false))
    .addOption(
      flag('publish-endpoint', 'take CloudEvents by POST /publish beside /metrics, from whom the platform lets', false),
    )
    .addOption(flag('dispatched', 'functions are served over HTTP, so that leases last as long as a run may', false));
}

async function runParts(parts: Parts, options: RunOptions): Promise<void> {
  const { run } = await import('./run.ts');
  await run(parts, options);
}

const functionArgument = new Argument('<name>', 'the function').choices([...FUNCTION_NAMES]);

// Each command loads what it needs, and nothing else.
command('init', 'installs the types of the provider and registers its kind, then ends').action(
  async (options: CommonOptions) => (await import('./init.ts')).init(options),
);
worker('run', 'bridge and all four functions in one process').action((options: RunOptions) =>
  runParts({ bridge: true, functions: FUNCTION_NAMES }, options),
);
worker('bridge', 'the bridge alone').action((options: RunOptions) =>
  runParts({ bridge: true, functions: [] }, options),
);
worker('function', 'one function as a worker')
  .addArgument(functionArgument)
  .action((name: FunctionName, options: RunOptions) => runParts({ bridge: false, functions: [name] }, options));
command('serve', 'one function as an HTTP service for CloudEvents, without a queue')
  .addArgument(functionArgument)
  .option('--bind-address <address>', 'address of the service (default: :$PORT, else :8080)')
  .option('--token-file <file>', 'only requests with this bearer token are taken')
  .action(async (name: FunctionName, options: ServeOptions) => (await import('./serve.ts')).serve(name, options));
attended('dispatch', 'takes events from the queue and sends them to where functions are served')
  .requiredOption('--to <function=address...>', 'where a function is served')
  .option('--token-file <file>', 'bearer token for the functions')
  .option('--ca-file <file>', 'authority of their certificates')
  .action(async (options: DispatchOptions) => (await import('./dispatch.ts')).dispatch(options));
command('publish', 'puts CloudEvents on the queue, or sends them to where a function is served')
  .option('--object <namespace/name>', 'the object that the event is about')
  .option('--workspace <logical cluster>', 'it is in this kcp workspace (default: on the onboarding cluster)')
  .option('--uid <uid>', 'its metadata.uid (default: looked up)')
  .option(
    '--type <type>',
    'object.changed, install.requested, delete.requested or teardown.requested',
    'object.changed',
  )
  .option('--file <file>', 'CloudEvents in JSON in place of the flags above; - for standard input')
  .option('--address <url>', 'send to where a function is served (default: to the queue)')
  .option('--token-file <file>', 'bearer token for that address')
  .option('--wait', 'show the flow until it ends; exit 1 when it failed', false)
  .option('--timeout <duration>', 'how long to wait for the queue, and for the end of a flow', '2m')
  .action(async (options: PublishOptions) => (await import('./publish.ts')).publish(options));
command('orphans', 'lists what the provider has on the platform cluster for objects that are gone')
  .option('--delete', 'delete it', false)
  .action(async (options: OrphansOptions) => (await import('./orphans.ts')).orphans(options));

try {
  await program.parseAsync();
} catch (error) {
  const text = redact(messageOf(error));
  process.stderr.write(`service-provider: ${text}\n`);
  process.exitCode = error instanceof RuntimeError && error.code === 'INVALID_SETTINGS' ? 2 : 1;
}
// Clients keep connections alive for a while; nothing is left to do on them.
process.exit();
