import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { parse } from 'yaml';
import { messageOf, RuntimeError } from '../errors.ts';
import { HttpKubeClient } from './client.ts';
import { decideOwnConfig, type OwnConfig, type Pem } from './decide-own-config.ts';
import { authorityProblem, pairProblem } from './pem.ts';
import { rotating } from './rotating.ts';
import { agentFor } from './transport.ts';

/** Where a process finds its own configuration: a kubeconfig, or what Kubernetes gives to a pod. */
export interface OwnConfigSource {
  /** Path of a kubeconfig; without it the in-cluster configuration. */
  kubeconfig?: string | undefined;
  /** `KUBERNETES_SERVICE_HOST` and `KUBERNETES_SERVICE_PORT`. */
  serviceHost?: string | undefined;
  servicePort?: string | undefined;
}

/** Where a pod finds what its ServiceAccount is. */
const POD_FOLDER = '/var/run/secrets/kubernetes.io/serviceaccount';

/** The namespace of the pod that this is; undefined outside of one, and in one without a token. */
export function podNamespace(): string | undefined {
  try {
    return readFileSync(join(POD_FOLDER, 'namespace'), 'utf8').trim() || undefined;
  } catch {
    return undefined;
  }
}

/**
 * A client for the process's own configuration, which may name files that are rotated and plugins that are run, since
 * whoever starts the process wrote it. Never a guess: neither at `localhost` nor at one entry's user for another's server.
 * @param onReread told of each file that is read again later
 * @throws RuntimeError `INVALID_SETTINGS` naming the file and field, and the remedy
 */
export async function openOwnConfig(
  source: OwnConfigSource,
  onReread: (path: string) => void = () => undefined,
): Promise<HttpKubeClient> {
  const { kubeconfig: path } = source;
  const config = path === undefined ? inCluster(source) : await fromKubeconfig(path);
  // The library that runs plugins is large: loaded only where it is needed.
  if (config === 'plugin') return (await import('./plugin-config.ts')).clientForPlugin(path as string);
  const { server, servername, rejectUnauthorized, tokenFile } = config;
  const tls = { ...(await pemOf(config)), servername, rejectUnauthorized };
  const transport = (authorization: () => Promise<string | undefined>): HttpKubeClient =>
    new HttpKubeClient(server, { dispatcher: agentFor(tls), authorization });
  if (tokenFile === undefined) return transport(() => Promise.resolve(config.authorization));
  // A pod's token is replaced every hour or so.
  const authorization = rotating(async () => `Bearer ${(await fileAt(tokenFile)).trim()}`);
  await authorization();
  onReread(tokenFile);
  return transport(authorization);
}

function inCluster({ serviceHost: host, servicePort: port = '443' }: OwnConfigSource): OwnConfig {
  if (host === undefined)
    throw new RuntimeError(
      'INVALID_SETTINGS',
      'no cluster: set KUBECONFIG to the kubeconfig of the platform cluster, or run in a pod of it',
    );
  return {
    server: `https://${host.includes(':') ? `[${host}]` : host}:${port}`,
    ca: { file: join(POD_FOLDER, 'ca.crt') },
    tokenFile: join(POD_FOLDER, 'token'),
  };
}

async function fromKubeconfig(path: string): Promise<OwnConfig | 'plugin'> {
  let raw: unknown;
  const text = await fileAt(path);
  try {
    raw = parse(text, { logLevel: 'error' });
  } catch {
    throw new RuntimeError('INVALID_SETTINGS', `kubeconfig ${path}: not valid YAML`);
  }
  return decideOwnConfig(raw, path, (file) => resolve(dirname(path), file));
}

async function pemOf({ ca, cert, key }: OwnConfig) {
  const read = async (source: Pem | undefined): Promise<string | undefined> =>
    source && ('pem' in source ? source.pem : fileAt(source.file));
  const pem = { ca: await read(ca), cert: await read(cert), key: await read(key) };
  refuse(ca, 'certificate-authority', authorityProblem(pem.ca));
  refuse(cert ?? key, 'client-certificate and client-key', pairProblem(pem.cert, pem.key));
  return pem;
}

function refuse(source: Pem | undefined, field: string, problem: string | undefined): void {
  if (problem === undefined) return;
  const where = source && 'file' in source ? source.file : `${field}-data`;
  throw new RuntimeError('INVALID_SETTINGS', `${where}: ${problem}`);
}

async function fileAt(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    throw new RuntimeError('INVALID_SETTINGS', `${messageOf(error)}; name a file that this process may read`);
  }
}
