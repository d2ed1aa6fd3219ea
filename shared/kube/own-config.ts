import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { delimiter, dirname, join, resolve } from 'node:path';
import { parse } from 'yaml';
import { messageOf, RuntimeError } from '../errors.ts';
import type { HttpKubeClient } from './client.ts';
import { decideOwnConfig, type OwnConfig, type Pem } from './decide-own-config.ts';
import { followingClient } from './following.ts';
import { authorityProblem, pairProblem } from './pem.ts';

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
 * A client for the process's own configuration, which is read again as {@link followingClient} says, and may name files
 * that are rotated and plugins that are run, since whoever starts the process wrote it. Never a guess: neither at `localhost` nor at one entry's user for another's server.
 * @param onReread told of each file that is read again later
 * @param pluginLimitMs a plugin that takes longer is ended; by default after 20 s
 * @throws RuntimeError `INVALID_SETTINGS` naming the file and field, and the remedy
 */
export async function openOwnConfig(
  source: OwnConfigSource,
  onReread: (path: string) => void = () => undefined,
  pluginLimitMs?: number,
): Promise<HttpKubeClient> {
  const { kubeconfig: path } = source;
  let told = false;
  return followingClient(async (again) => {
    const config = path === undefined ? inCluster(source) : await fromKubeconfig(path);
    // The library that runs plugins is large: loaded only where it is needed.
    if (config === 'plugin')
      return (await import('./plugin-config.ts')).presentedByPlugin(path as string, again, pluginLimitMs);
    const { server, servername, rejectUnauthorized, tokenFile } = config;
    if (tokenFile !== undefined && !told) onReread(tokenFile);
    told = true;
    return {
      server,
      tls: { ...(await pemOf(config)), servername, rejectUnauthorized },
      // A pod's token is replaced every hour or so.
      authorization: tokenFile === undefined ? config.authorization : `Bearer ${(await fileAt(tokenFile)).trim()}`,
    };
  });
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
  // Whether one is empty, and which goes first, decides whose credential goes where.
  if (path.includes(delimiter))
    throw new RuntimeError('INVALID_SETTINGS', `kubeconfig ${path}: lists of files are not supported; name one file`);
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
