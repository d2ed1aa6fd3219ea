import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { clientFor } from '../../shared/kube/connect.ts';
import type { HttpKubeClient } from '../../shared/kube/client.ts';
import type { ClusterCredentials } from '../../shared/kube/kubeconfig.ts';
import { findBinary } from './binaries.ts';
import { startProcess } from './processes.ts';
import { LOGICAL_CLUSTERS } from '../../shared/kube/resources.ts';
import { workspaceUrl } from '../../shared/kube/workspace-url.ts';

const SCRIPT = join(import.meta.dirname, 'modules/kcp/shards/two-shards.sh');

/** A kcp of two shards, `root` and `shard-2`, behind a front proxy. */
export interface TwoShards {
  /** The front proxy. */
  readonly server: string;
  readonly admin: HttpKubeClient;
  readonly adminCredentials: ClusterCredentials;
  /** A client certificate for a user without any rights. */
  identity(user: string): ClusterCredentials;
  /** Freezes or thaws a shard, as a machine that hangs. */
  signal(shard: 'root' | 'shard-2', signal: 'SIGSTOP' | 'SIGCONT'): void;
  stop(): Promise<void>;
}

export async function startTwoShards({ dir, port }: { dir: string; port: number }): Promise<TwoShards> {
  const bin = join(dir, 'bin');
  mkdirSync(bin, { recursive: true });
  for (const name of ['kcp', 'kcp-front-proxy'] as const)
    if (!existsSync(join(bin, name))) symlinkSync(await findBinary(name), join(bin, name));
  const pki = join(dir, 'pki');
  const server = `https://127.0.0.1:${port}`;
  const certificate = (name: string): ClusterCredentials => ({
    server,
    ca: readFileSync(join(pki, 'serving-ca.crt'), 'utf8'),
    clientCertificate: readFileSync(join(pki, `${name}.crt`), 'utf8'),
    clientKey: readFileSync(join(pki, `${name}.key`), 'utf8'),
  });
  // The script leaves its processes behind; this one ends them with itself.
  const end = `trap 'kill -CONT $(cat "$1"/*.pid); kill $(cat "$1"/*.pid); exit' TERM; "$0" "$1" "$2"; touch "$1/up"; while :; do sleep 0.5; done`;
  const shards = await startProcess({
    name: 'two shards',
    command: 'bash',
    args: ['-c', end, SCRIPT, dir, bin],
    env: { BASE_PORT: String(port) },
    logFile: join(dir, 'two-shards.log'),
    ready: async () => existsSync(join(dir, 'up')) && (await answers(certificate('kcp-admin'))),
    readyTimeoutMs: 240_000,
  });
  const adminCredentials = certificate('kcp-admin');
  return {
    server,
    adminCredentials,
    admin: clientFor(adminCredentials),
    identity: (user) => {
      issue(pki, user);
      return certificate(user);
    },
    signal: (shard, signal) => void process.kill(Number(readFileSync(join(dir, `${shard}.pid`), 'utf8')), signal),
    stop: () => shards.stop(),
  };
}

async function answers(credentials: ClusterCredentials): Promise<boolean> {
  const root = clientFor({ ...credentials, server: workspaceUrl(credentials.server, 'root') });
  return (await root.get(LOGICAL_CLUSTERS, 'cluster')) !== undefined;
}

function issue(pki: string, user: string): void {
  const openssl = (...args: string[]): void => void execFileSync('openssl', args, { cwd: pki, stdio: 'pipe' });
  openssl(
    'req',
    '-newkey',
    'rsa:2048',
    '-nodes',
    '-keyout',
    `${user}.key`,
    '-out',
    `${user}.csr`,
    '-subj',
    `/CN=${user}`,
  );
  openssl(
    'x509',
    '-req',
    '-in',
    `${user}.csr`,
    '-CA',
    'client-ca.crt',
    '-CAkey',
    'client-ca.key',
    '-CAcreateserial',
    '-out',
    `${user}.crt`,
    '-days',
    '30',
  );
}
