import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parse, stringify } from 'yaml';
import { clientFor } from '../../shared/kube/connect.ts';
import type { HttpKubeClient } from '../../shared/kube/client.ts';
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
  /** Users without any rights, whose tokens outlive a restart. */
  readonly users: readonly KcpUser[];
}

export interface KcpUser {
  readonly name: string;
  readonly token: string;
}

const USER_COUNT = 8;

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
  if (!existsSync(tokenFile(dir))) writeFileSync(tokenFile(dir), newUsers(), { mode: 0o600 });
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
      `--token-auth-file=${tokenFile(dir)}`,
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
  const { server } = adminCredentials;
  const users = readUsers(dirname(kubeconfigPath));
  return { server, admin: clientFor(adminCredentials), adminCredentials, kubeconfigPath, users };
}

function tokenFile(dir: string): string {
  return join(dir, 'tokens.csv');
}

function newUsers(): string {
  const user = (_: unknown, index: number): string =>
    `${randomBytes(24).toString('hex')},user-${index},user-${index}\n`;
  return Array.from({ length: USER_COUNT }, user).join('');
}

function readUsers(dir: string): KcpUser[] {
  if (!existsSync(tokenFile(dir))) return [];
  const lines = readFileSync(tokenFile(dir), 'utf8').trim().split('\n');
  return lines.map((line) => {
    const [token = '', name = ''] = line.split(',');
    return { token, name };
  });
}
