import type { Logger } from 'pino';
import { RuntimeError } from '../../shared/errors.ts';
import { openOwnConfig, type OwnConfigSource } from '../../shared/kube/own-config.ts';
import type { HttpKubeClient } from '../../shared/kube/client.ts';
import { createLogger, type LogLevel } from '../../shared/log.ts';
import type { Provider } from '../../shared/provider/provider.ts';
import { loadProvider } from './provider-module.ts';
import { type Environment, type EnvironmentNeeds, parseEnvironment } from './settings.ts';

/** Flags of every command. */
export interface CommonOptions {
  provider?: string;
  providerName?: string;
  environment?: string;
  verbosity: string;
}

/** What every command starts from. */
export interface Setup {
  env: Environment;
  provider: Provider;
  platform: HttpKubeClient;
  log: Logger;
}

/** The operator's `--verbosity` (in upper case), and pino's own names. */
const LEVELS: Readonly<Record<string, LogLevel>> = {
  error: 'error',
  warn: 'warn',
  info: 'info',
  debug: 'debug',
  trace: 'trace',
};

/** What a command has that reaches no cluster. */
export type ProcessSetup = Pick<Setup, 'env' | 'log'> & { readonly name: string };

/**
 * For a command that needs no cluster; it loads the provider only where that tells its name.
 * @throws RuntimeError `INVALID_SETTINGS` naming the flag or variable and the remedy
 */
export async function setUpProcess(options: CommonOptions, needs: EnvironmentNeeds): Promise<ProcessSetup> {
  const env = parseEnvironment(process.env, needs);
  const name = options.providerName ?? (await providerOf(options, env)).name;
  return { env, name, log: loggerOf(env, levelOf(options), name) };
}

/** @throws RuntimeError `INVALID_SETTINGS` naming the flag or variable and the remedy */
export async function setUp(options: CommonOptions, needs: EnvironmentNeeds): Promise<Setup> {
  const env = parseEnvironment(process.env, needs);
  const level = levelOf(options);
  const provider = await providerOf(options, env);
  const log = loggerOf(env, level, provider.name);
  return { env, provider, platform: await openOwnConfig(ownConfigOf(env)), log };
}

function loggerOf(env: Environment, level: LogLevel, name: string): Logger {
  const log = createLogger(level, name, env.LOG_FILE);
  if (process.env['HTTPS_PROXY'] ?? process.env['https_proxy'])
    log.warn('HTTPS_PROXY: proxies are not used; API servers have to be reached directly');
  return log;
}

function levelOf({ verbosity }: CommonOptions): LogLevel {
  const level = LEVELS[verbosity.toLowerCase()];
  if (level) return level;
  throw new RuntimeError('INVALID_SETTINGS', `--verbosity ${verbosity}: use ${Object.keys(LEVELS).join(', ')}`);
}

function providerOf(options: CommonOptions, env: Environment): Promise<Provider> {
  return loadProvider(options.provider ?? env.SERVICE_PROVIDER_MODULE, options.providerName);
}

/** Access to the onboarding cluster that was given instead of ordered, for local debugging. */
export function givenOnboarding(env: Environment): Promise<HttpKubeClient> | undefined {
  return env.ONBOARDING_KUBECONFIG === undefined ? undefined : openOwnConfig({ kubeconfig: env.ONBOARDING_KUBECONFIG });
}

function ownConfigOf(env: Environment): OwnConfigSource {
  return {
    kubeconfig: env.KUBECONFIG,
    serviceHost: env.KUBERNETES_SERVICE_HOST,
    servicePort: env.KUBERNETES_SERVICE_PORT,
  };
}
