#!/usr/bin/env node
import { Argument, Command } from 'commander';
import { messageOf, RuntimeError } from '../../shared/errors.ts';
import { FUNCTION_NAMES, type FunctionName } from '../../shared/events/catalogue.ts';
import { redact } from '../../shared/redact.ts';
import { type Parts, serve, type ServeOptions } from './serve.ts';

const program = new Command('service-provider').description(
  'Runs a service provider for OpenControlPlane and kcp. Settings come from flags and from environment variables.',
);

/** The flags that the operator passes to every provider. */
function command(name: string, description: string, parts: (argument: string) => Parts): Command {
  return program
    .command(name)
    .description(description)
    .option(
      '--provider <module>',
      'module whose default export is the provider (default: "serviceProvider" in package.json)',
    )
    .option('--provider-name <name>', 'name of the provider and of its ProviderConfig')
    .option('--environment <name>', 'name of the environment')
    .option('--verbosity <level>', 'error, warn, info, debug or trace', 'info')
    .option('--health-probe-bind-address <address>', 'address of /healthz and /readyz; 0 for none', ':8081')
    .action(async (...given: unknown[]) => {
      const [argument, options] = given.length > 2 ? (given as [string, ServeOptions]) : ['', given[0] as ServeOptions];
      await serve(parts(argument), options);
    });
}

command('run', 'bridge and all four functions in one process', () => ({ bridge: true, functions: FUNCTION_NAMES }));
command('bridge', 'the bridge alone', () => ({ bridge: true, functions: [] }));
command('function', 'one function as a worker', (name) => ({
  bridge: false,
  functions: [name as FunctionName],
})).addArgument(new Argument('<name>', 'the function').choices([...FUNCTION_NAMES]));

try {
  await program.parseAsync();
} catch (error) {
  const text = redact(messageOf(error));
  process.stderr.write(`service-provider: ${text}\n`);
  process.exitCode = error instanceof RuntimeError && error.code === 'INVALID_SETTINGS' ? 2 : 1;
}
// Clients keep connections alive for a while; nothing is left to do on them.
process.exit();
