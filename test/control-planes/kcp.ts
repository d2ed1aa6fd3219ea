import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';
import { clientFor, type HttpKubeClient } from '../../shared/kube/client.ts';
import { parseKubeconfig, type ClusterCredentials } from '../../shared/kube/kubeconfig.ts';
import { findBinary } from './binaries.ts';
import { freePort } from './ports.ts';
import { startProcess, type ManagedProcess } from './processes.ts';
import { isReady } from './readiness.ts';

/** A kcp that runs, whoever started it. */
export interface Kcp {
  /** `https://127.0.0.1:port`, without a workspace. */
  readonly server: string;
  /** Member of `system:kcp:admin`; use `.at(workspaceUrl(server, path))`. */
  readonly admin: HttpKubeClient;
  readonly adminCredentials: ClusterCredentials;
  /** As kcp wrote it: contexts `root`, `base`, `system:admin`. */
  readonly kubeconfigPath: string;
}

export interface StartedKcp extends Kcp {
  readonly process: ManagedProcess;
  stop(): Promise<void>;
}

/** Starts kcp with an embedded etcd on free loopback ports. Starting again in the same folder goes on with its data. */
export async function startKcp(options: { dir: string; port?: number; args?: readonly string[] }): Promise<StartedKcp> {
  const { dir } = options;
  mkdirSync(dir, { recursive: true });
  const binary = await findBinary('kcp');
  const [port, etcdClient, etcdPeer] = [options.port ?? (await freePort()), await freePort(), await freePort()];
  const kubeconfigPath = join(dir, 'admin.kubeconfig');
  const kcp = await startProcess({
    name: 'kcp',
    command: binary,
    args: [
      'start',
      `--root-directory=${dir}`,
      '--bind-address=127.0.0.1',
      `--secure-port=${port}`,
      `--embedded-etcd-client-port=${etcdClient}`,
      `--embedded-etcd-peer-port=${etcdPeer}`,
      ...(options.args ?? []),
    ],
    cwd: dir,
    logFile: join(dir, 'kcp.log'),
    ready: async () => existsSync(kubeconfigPath) && (await isReady(connectKcp(kubeconfigPath).adminCredentials)),
  });
  return { ...connectKcp(kubeconfigPath), process: kcp, stop: () => kcp.stop() };
}

/** Access to a kcp that another process started, by the kubeconfig that it wrote. */
export function connectKcp(kubeconfigPath: string): Kcp {
  const config = parse(readFileSync(kubeconfigPath, 'utf8')) as Record<string, unknown>;
  const base = stringify({ ...config, 'current-context': 'base' });
  const adminCredentials = parseKubeconfig(base, kubeconfigPath);
  return { server: adminCredentials.server, admin: clientFor(adminCredentials), adminCredentials, kubeconfigPath };
}
