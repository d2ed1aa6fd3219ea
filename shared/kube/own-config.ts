import { KubeConfig } from '@kubernetes/client-node';
import { HttpKubeClient } from './client.ts';
import { agentFor, type TlsSettings } from './transport.ts';

/**
 * A client for the process's own configuration, which may use everything that a kubeconfig can (files that are rotated,
 * `exec` plugins), since whoever starts the process wrote it.
 */
export async function clientForOwnConfig(kubeConfig: KubeConfig): Promise<HttpKubeClient> {
  const server = kubeConfig.getCurrentCluster()?.server;
  if (!server) throw new Error('the kubeconfig has no current cluster');
  const read = async (): Promise<OwnOptions> => {
    const options: OwnOptions = {};
    await kubeConfig.applyToHTTPSOptions(options as Parameters<KubeConfig['applyToHTTPSOptions']>[0]);
    return options;
  };
  const dispatcher = agentFor(await read());
  return new HttpKubeClient(server, {
    dispatcher,
    authorization: async () => {
      const options = await read();
      if (options.auth) return `Basic ${Buffer.from(options.auth).toString('base64')}`;
      return options.headers?.['Authorization'];
    },
  });
}

interface OwnOptions extends TlsSettings {
  auth?: string;
  headers?: Record<string, string>;
}

/** `KUBECONFIG` (or `path`), else the in-cluster configuration; never a guess at `localhost`. */
export function ownKubeConfig(path?: string): KubeConfig {
  const config = new KubeConfig();
  if (path) config.loadFromFile(path);
  else config.loadFromCluster();
  return config;
}
