import type { Logger } from 'pino';
import { messageOf, RuntimeError } from '../../shared/errors.ts';
import { openOwnConfig, type OwnConfigSource, podNamespace } from '../../shared/kube/own-config.ts';
import type { HttpKubeClient } from '../../shared/kube/client.ts';
import { createLogger, type LogLevel } from '../../shared/log.ts';
import type { Provider } from '../../shared/provider/provider.ts';
import { loadProvider } from './provider-module.ts';
import { RereadFiles } from './reread-files.ts';
import { type Environment, type EnvironmentNeeds, parseEnvironment } from './settings.ts';
import { bySetting } from './settings-file.ts';

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
  files: RereadFiles;
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
export type ProcessSetup = Pick<Setup, 'env' | 'files' | 'log'> & { readonly name: string };

/**
 * For a command that needs no cluster; it loads the provider only where that tells its name.
 * @throws RuntimeError `INVALID_SETTINGS` naming the flag or variable and the remedy
 */
export async function setUpProcess(options: CommonOptions, needs: EnvironmentNeeds): Promise<ProcessSetup> {
  const env = parseEnvironment(process.env, needs);
  const name = options.providerName ?? (await providerOf(options, env)).name;
  const log = loggerFor(options, name, env);
  return { env, name, files: new RereadFiles(log), log };
}

/** @throws RuntimeError `INVALID_SETTINGS` naming the flag or variable and the remedy */
export async function setUp(options: CommonOptions, needs: EnvironmentNeeds): Promise<Setup> {
  const env = parseEnvironment(inOwnNamespace(process.env), needs);
  levelOf(options);
  const provider = await providerOf(options, env);
  const log = loggerFor(options, provider.name, env);
  const files = new RereadFiles(log);
  const setting = env.KUBECONFIG === undefined ? IN_CLUSTER : 'KUBECONFIG';
  return { env, provider, platform: await opened(ownConfigOf(env), setting, files), files, log };
}

const IN_CLUSTER = 'in-cluster configuration';

function opened(source: OwnConfigSource, setting: string, files: RereadFiles): Promise<HttpKubeClient> {
  return bySetting(
    setting,
    openOwnConfig(source, (path) => files.follow(path, setting)),
  );
}

/** In a pod of the platform cluster, unless the operator of it says otherwise. */
function inOwnNamespace(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return env['POD_NAMESPACE'] || env['KUBECONFIG'] ? env : { ...env, POD_NAMESPACE: podNamespace() };
}

function levelOf({ verbosity }: CommonOptions): LogLevel {
  const level = LEVELS[verbosity.toLowerCase()];
  if (level) return level;
  throw new RuntimeError('INVALID_SETTINGS', `--verbosity ${verbosity}: use ${Object.keys(LEVELS).join(', ')}`);
}

function loggerFor(options: CommonOptions, name: string, { LOG_FILE }: Environment): Logger {
  const level = levelOf(options);
  try {
    const log = createLogger(level, name, LOG_FILE);
    if (process.env['HTTPS_PROXY'] ?? process.env['https_proxy'])
      log.warn('HTTPS_PROXY: proxies are not used; API servers have to be reached directly');
    return log;
  } catch (error) {
    throw new RuntimeError(
      'INVALID_SETTINGS',
      `LOG_FILE: ${messageOf(error)}; name a file that this process may write`,
      { cause: error },
    );
  }
}

function providerOf({ provider, providerName }: CommonOptions, env: Environment): Promise<Provider> {
  return provider === undefined
    ? loadProvider(env.SERVICE_PROVIDER_MODULE, 'SERVICE_PROVIDER_MODULE', providerName)
    : loadProvider(provider, '--provider', providerName);
}

/** Access to the onboarding cluster that was given instead of ordered, for local debugging. */
export function givenOnboarding({ env, files }: Pick<Setup, 'env' | 'files'>): Promise<HttpKubeClient> | undefined {
  return env.ONBOARDING_KUBECONFIG === undefined
    ? undefined
    : opened({ kubeconfig: env.ONBOARDING_KUBECONFIG }, 'ONBOARDING_KUBECONFIG', files);
}

function ownConfigOf(env: Environment): OwnConfigSource {
  return {
    kubeconfig: env.KUBECONFIG,
    serviceHost: env.KUBERNETES_SERVICE_HOST,
    servicePort: env.KUBERNETES_SERVICE_PORT,
  };
}
