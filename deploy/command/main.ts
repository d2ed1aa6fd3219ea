#!/usr/bin/env node
import { Argument, Command, Option } from 'commander';
import { messageOf, RuntimeError } from '../../shared/errors.ts';
import { FUNCTION_NAMES, type FunctionName } from '../../shared/events/catalogue.ts';
import { redact } from '../../shared/redact.ts';
import { init } from './init.ts';
import { orphans, type OrphansOptions } from './orphans.ts';
import { type Parts, serve, type ServeOptions } from './run.ts';
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
function server(name: string, description: string, parts: (argument: string) => Parts): Command {
  return command(name, description)
    .option('--health-probe-bind-address <address>', 'address of /healthz and /readyz; 0 for none', ':8081')
    .option('--metrics-bind-address <address>', 'address of /metrics, such as :8443; 0 for none', '0')
    .addOption(flag('metrics-secure', 'serve /metrics by HTTPS, to whom the platform cluster lets read it', true))
    .option('--metrics-cert-path <folder>', 'folder of the certificate for /metrics (default: one of our own making)')
    .option('--metrics-cert-name <file>', 'name of the certificate file', 'tls.crt')
    .option('--metrics-cert-key <file>', 'name of the key file', 'tls.key')
    .addOption(flag('leader-elect', 'several replicas choose one of them for each mode', false))
    .action(async (...given: unknown[]) => {
      const [argument, options] = given.length > 2 ? (given as [string, ServeOptions]) : ['', given[0] as ServeOptions];
      await serve(parts(argument), options);
    });
}

command('init', 'installs the types of the provider and registers its kind, then ends').action(
  (options: CommonOptions) => init(options),
);
server('run', 'bridge and all four functions in one process', () => ({ bridge: true, functions: FUNCTION_NAMES }));
server('bridge', 'the bridge alone', () => ({ bridge: true, functions: [] }));
server('function', 'one function as a worker', (name) => ({
  bridge: false,
  functions: [name as FunctionName],
})).addArgument(new Argument('<name>', 'the function').choices([...FUNCTION_NAMES]));
command('orphans', 'lists what the provider has on the platform cluster for objects that are gone')
  .option('--delete', 'delete it', false)
  .action((options: OrphansOptions) => orphans(options));

try {
  await program.parseAsync();
} catch (error) {
  const text = redact(messageOf(error));
  process.stderr.write(`service-provider: ${text}\n`);
  process.exitCode = error instanceof RuntimeError && error.code === 'INVALID_SETTINGS' ? 2 : 1;
}
// Clients keep connections alive for a while; nothing is left to do on them.
process.exit();
