import { execFileSync } from 'node:child_process';
import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { eventually } from '../support/wait.ts';
import { freePort } from './ports.ts';
import { type ManagedProcess, startProcess } from './processes.ts';
import { findRedis } from './redis.ts';

const HOST = '127.0.0.1';

/** One of several servers that belong together. */
export interface RedisNode {
  readonly host: string;
  readonly port: number;
  /** Its answer to `redis-cli`. */
  cli(...words: string[]): string;
  kill(): Promise<void>;
  stop(): Promise<void>;
}

export interface NodeOptions {
  dir: string;
  /** Lines of its configuration, before those that all have. */
  config?: readonly string[];
  port?: number;
  sentinel?: boolean;
  /** How `redis-cli` gets in. */
  cliArgs?: readonly string[];
}

export async function startNode({ dir, config = [], port, sentinel, cliArgs = [] }: NodeOptions): Promise<RedisNode> {
  mkdirSync(dir, { recursive: true });
  const number = port ?? (await freePort());
  const server = findRedis();
  const file = join(dir, 'redis.conf');
  writeFileSync(file, [`bind ${HOST}`, `dir ${dir}`, ...config, ''].join('\n'));
  // The TLS test has a port of its own for that.
  if (!config.some((line) => line.startsWith('tls-port'))) appendFileSync(file, `port ${number}\n`);
  if (!sentinel) appendFileSync(file, 'save ""\nappendonly no\nmaxmemory-policy noeviction\n');
  const cli = (...words: string[]): string =>
    execFileSync(join(dirname(server), 'redis-cli'), ['-h', HOST, '-p', String(number), ...cliArgs, ...words], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: 20_000,
    }).trim();
  const process: ManagedProcess = await startProcess({
    name: sentinel ? 'redis-sentinel' : 'redis-server',
    command: server,
    args: [file, ...(sentinel ? ['--sentinel'] : [])],
    cwd: dir,
    logFile: join(dir, 'redis.log'),
    ready: async () => Promise.resolve(cli('PING') === 'PONG'),
  });
  return { host: HOST, port: number, cli, kill: () => process.kill(), stop: () => process.stop() };
}

export interface Servers {
  nodes: readonly RedisNode[];
  stop(): Promise<void>;
}

function together(nodes: readonly RedisNode[]): Servers {
  return { nodes, stop: async () => void (await Promise.all(nodes.map((node) => node.kill()))) };
}

/** A Redis Cluster of three masters, each with so many replicas that take over within seconds. */
export async function startRedisCluster(dir: string, { replicas = 0 } = {}): Promise<Servers> {
  const config = ['cluster-enabled yes', 'cluster-node-timeout 2000', 'repl-diskless-sync-delay 0'];
  const nodes = await Promise.all(
    Array.from({ length: 3 * (1 + replicas) }, async (_, index) => {
      const cluster = [...config, `cluster-port ${await freePort()}`];
      return startNode({ dir: join(dir, `node-${index}`), config: cluster });
    }),
  );
  const [first] = nodes as [RedisNode];
  const addresses = nodes.map(({ host, port }) => `${host}:${port}`);
  first.cli('--cluster', 'create', ...addresses, '--cluster-replicas', String(replicas), '--cluster-yes');
  await eventually('all nodes know of all, and replicas follow', () =>
    nodes.every((node) => {
      const role = node.cli('ROLE');
      return node.cli('CLUSTER', 'INFO').includes('cluster_state:ok') && (isMaster(role) || role.includes('connected'));
    }),
  );
  return together(nodes);
}

/** By its answer to `ROLE`. */
function isMaster(role: string): boolean {
  return role.startsWith('master');
}

export interface Watched extends Servers {
  master: RedisNode;
  replica: RedisNode;
  sentinels: readonly RedisNode[];
}

/** A master with a replica, and three sentinels (password: guard) who notice within a second that it is gone. */
export async function startWatched(dir: string, name: string): Promise<Watched> {
  const master = await startNode({ dir: join(dir, 'master'), config: ['repl-diskless-sync-delay 0'] });
  const replica = await startNode({ dir: join(dir, 'replica'), config: [`replicaof ${master.host} ${master.port}`] });
  await eventually('the replica follows', () => replica.cli('INFO', 'replication').includes('master_link_status:up'));
  const watch = [
    'requirepass guard',
    `sentinel monitor ${name} ${master.host} ${master.port} 2`,
    `sentinel down-after-milliseconds ${name} 1000`,
    `sentinel failover-timeout ${name} 5000`,
  ];
  const sentinels = await Promise.all(
    [0, 1, 2].map((index) =>
      startNode({
        dir: join(dir, `sentinel-${index}`),
        config: watch,
        sentinel: true,
        cliArgs: ['-a', 'guard', '--no-auth-warning'],
      }),
    ),
  );
  const knows = (each: RedisNode, what: string): boolean => each.cli('SENTINEL', 'MASTER', name).includes(what);
  await eventually('the sentinels know each other and the replica', () =>
    sentinels.every((each) => knows(each, 'num-other-sentinels\n2') && knows(each, 'num-slaves\n1')),
  );
  return { ...together([master, replica, ...sentinels]), master, replica, sentinels };
}

/** An authority, and certificates of it for the server and for one client, all PEM files in a folder. */
export function makeCertificates(dir: string): Record<'ca' | 'server' | 'client', { cert: string; key: string }> {
  const openssl = (...words: string[]): void =>
    void execFileSync('openssl', words, { cwd: dir, stdio: ['ignore', 'pipe', 'pipe'] });
  const EC = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'];
  const files = (name: string): { cert: string; key: string } => ({
    cert: join(dir, `${name}.crt`),
    key: join(dir, `${name}.key`),
  });
  openssl('req', '-x509', ...EC, '-subj', '/CN=test authority', '-keyout', 'ca.key', '-out', 'ca.crt');
  for (const name of ['server', 'client']) {
    const signed = ['-CA', 'ca.crt', '-CAkey', 'ca.key', '-addext', `subjectAltName=IP:${HOST}`];
    const leaf = ['-addext', 'basicConstraints=critical,CA:FALSE'];
    openssl(
      'req',
      '-x509',
      ...EC,
      ...signed,
      ...leaf,
      '-subj',
      `/CN=${name}`,
      '-keyout',
      `${name}.key`,
      '-out',
      `${name}.crt`,
    );
  }
  return { ca: files('ca'), server: files('server'), client: files('client') };
}

/** A server that takes encrypted connections alone, and those of clients with a certificate of its authority. */
export async function startRedisWithTls(
  dir: string,
): Promise<RedisNode & { files: ReturnType<typeof makeCertificates> }> {
  mkdirSync(dir, { recursive: true });
  const files = makeCertificates(dir);
  const port = await freePort();
  const config = [
    'port 0',
    `tls-port ${port}`,
    `tls-cert-file ${files.server.cert}`,
    `tls-key-file ${files.server.key}`,
    `tls-ca-cert-file ${files.ca.cert}`,
    'tls-auth-clients yes',
  ];
  const cliArgs = ['--tls', '--cacert', files.ca.cert, '--cert', files.client.cert, '--key', files.client.key];
  return { ...(await startNode({ dir: join(dir, 'server'), config, port, cliArgs })), files };
}
