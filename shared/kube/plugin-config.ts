import { spawn, type SpawnOptions } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { KubeConfig } from '@kubernetes/client-node';
import { messageOf, RuntimeError } from '../errors.ts';
import { PLUGIN_TIMEOUT_MS } from '../tuning.ts';
import type { Presented } from './following.ts';
import type { TlsSettings } from './transport.ts';

interface Options extends TlsSettings {
  auth?: string;
  headers?: Record<string, string>;
}

/** By path: the library remembers in it what a plugin gave, until that expires. */
const configs = new Map<string, KubeConfig>();

/**
 * What the process's own kubeconfig says where its user needs a plugin (`exec`, `auth-provider`), which the library runs. A
 * file of its own, since the library is large and hardly ever needed.
 * @param again what the plugin gave last is not taken any more: it is run anew
 * @param limitMs a plugin that takes longer is ended
 * @throws RuntimeError `NOT_READY` where the plugin fails, or does not end in time
 */
export async function presentedByPlugin(path: string, again: boolean, limitMs = PLUGIN_TIMEOUT_MS): Promise<Presented> {
  let config = configs.get(path);
  if (!config || again) {
    config = new KubeConfig();
    config.loadFromFile(path);
    endInTime(config, limitMs);
    configs.set(path, config);
  }
  const options: Options = {};
  const done = new AbortController();
  try {
    await Promise.race([
      config.applyToHTTPSOptions(options as Parameters<KubeConfig['applyToHTTPSOptions']>[0]),
      // Also where a child of its own keeps its output open.
      sleep(limitMs + 1_000, undefined, { signal: done.signal }).then(() => {
        throw new Error('it did not end in time');
      }),
    ]);
  } catch (error) {
    configs.delete(path);
    throw new RuntimeError('NOT_READY', `kubeconfig ${path}: the plugin of its user failed: ${messageOf(error)}`);
  } finally {
    done.abort();
  }
  const { ca, cert, key, servername, rejectUnauthorized } = options;
  return {
    server: config.getCurrentCluster()?.server ?? '',
    tls: { ca, cert, key, servername, rejectUnauthorized },
    authorization: options.auth
      ? `Basic ${Buffer.from(options.auth).toString('base64')}`
      : options.headers?.['Authorization'],
  };
}

/** The library waits for a plugin without end, and has no setting for that but the function that starts it. */
function endInTime(config: KubeConfig, limitMs: number): void {
  const { authenticators } = config as unknown as { authenticators: object[] };
  const execFn = (command: string, args: string[] | undefined, options: SpawnOptions) =>
    spawn(command, args ?? [], { ...options, timeout: limitMs, killSignal: 'SIGKILL' });
  for (const each of authenticators) if ('execFn' in each) Object.assign(each, { execFn });
}
