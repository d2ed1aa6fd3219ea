import { KubeConfig } from '@kubernetes/client-node';
import { HttpKubeClient } from './client.ts';
import { agentFor, type TlsSettings } from './transport.ts';

interface Options extends TlsSettings {
  auth?: string;
  headers?: Record<string, string>;
}

/**
 * A client for the process's own kubeconfig where its user needs a plugin (`exec`, `auth-provider`), which the library
 * runs. A file of its own, since the library is large and hardly ever needed.
 */
export async function clientForPlugin(path: string): Promise<HttpKubeClient> {
  const config = new KubeConfig();
  config.loadFromFile(path);
  const read = async (): Promise<Options> => {
    const options: Options = {};
    await config.applyToHTTPSOptions(options as Parameters<KubeConfig['applyToHTTPSOptions']>[0]);
    return options;
  };
  return new HttpKubeClient(config.getCurrentCluster()?.server ?? '', {
    dispatcher: agentFor(await read()),
    authorization: async () => {
      const options = await read();
      if (options.auth) return `Basic ${Buffer.from(options.auth).toString('base64')}`;
      return options.headers?.['Authorization'];
    },
  });
}
