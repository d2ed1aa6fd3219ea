import { spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { binaryFromEnvironment, environmentVariable } from './executables.ts';
import { freePort } from './ports.ts';
import { startProcess, type ManagedProcess } from './processes.ts';

export interface RedisOptions {
  dir: string;
  port?: number;
}

export interface StartedRedis {
  /** Stays the same over restarts. */
  readonly url: string;
  readonly port: number;
  readonly pid: number;
  /** Where `SAVE` and `BGSAVE` put the data. */
  readonly dumpFile: string;
  /** Sends one command to it and returns the first line of its answer; for `SAVE` and the like. */
  command(...words: string[]): Promise<string>;
  /** Ends it in order, without saving. */
  stop(): Promise<void>;
  /** SIGKILL, as a crash. */
  kill(): Promise<void>;
  /** SIGSTOP and SIGCONT: it hangs, with its connections open. */
  signal(signal: 'SIGSTOP' | 'SIGCONT'): void;
  /** Starts it again (after stopping, where it runs) on the same port and with no data. */
  restartEmpty(): Promise<void>;
  /** Starts it again with a dump: the last one that was saved, or a copy that a test has put aside. */
  restartFromDump(file?: string): Promise<void>;
}

/** Starts a real redis-server on loopback. It never saves unless told to. */
export async function startRedis({ dir, port: wanted }: RedisOptions): Promise<StartedRedis> {
  mkdirSync(dir, { recursive: true });
  const binary = findRedis();
  const port = wanted ?? (await freePort());
  const dumpFile = join(dir, 'dump.rdb');
  const start = (): Promise<ManagedProcess> => launch(binary, dir, port);
  let server = await start();
  const restart = async (prepare: () => void): Promise<void> => {
    await server.stop();
    prepare();
    server = await start();
  };
  return {
    url: `redis://127.0.0.1:${port}`,
    port,
    dumpFile,
    get pid() {
      return server.pid;
    },
    command: (...words) => command(port, words),
    stop: () => server.stop(),
    kill: () => server.kill(),
    signal: (signal) => server.signal(signal),
    restartEmpty: () => restart(() => rmSync(dumpFile, { force: true })),
    restartFromDump: (file = dumpFile) =>
      restart(() => {
        if (!existsSync(file)) throw new Error(`there is no dump ${file}: send SAVE first`);
        if (file !== dumpFile) copyFileSync(file, dumpFile);
      }),
  };
}

function launch(binary: string, dir: string, port: number): Promise<ManagedProcess> {
  return startProcess({
    name: 'redis-server',
    command: binary,
    args: [
      '--port',
      String(port),
      '--bind',
      '127.0.0.1',
      '--dir',
      dir,
      '--save',
      '',
      '--appendonly',
      'no',
      '--maxmemory-policy',
      'noeviction',
    ],
    cwd: dir,
    logFile: join(dir, 'redis.log'),
    ready: async () => (await command(port, ['PING'])) === '+PONG',
  });
}

/** `REDIS_SERVER_BINARY`, `PATH`, else the Debian package where we may install it. */
export function findRedis(): string {
  const given = binaryFromEnvironment('redis-server');
  if (given) return given;
  const remedy = `Install Redis >= 6.2 (Debian: apt-get install redis-server), or set ${environmentVariable('redis-server')}.`;
  if (process.getuid?.() !== 0 || !existsSync('/etc/debian_version'))
    throw new Error(`redis-server is not there. ${remedy}`);
  process.stderr.write('[control-planes] installing the package redis-server\n');
  for (const args of [['update'], ['install', '-y', '--no-install-recommends', 'redis-server']]) {
    const environment = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
    const result = spawnSync('apt-get', args, { env: environment, encoding: 'utf8' });
    if (result.status !== 0) throw new Error(`apt-get ${args.join(' ')} failed. ${remedy}\n${result.stderr}`);
  }
  const installed = binaryFromEnvironment('redis-server');
  if (!installed) throw new Error(`the package redis-server brought no redis-server. ${remedy}`);
  return installed;
}

/** In Redis's own protocol, so that neither a client library nor its retries come between. */
function command(port: number, words: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: '127.0.0.1', port });
    socket.setEncoding('utf8').setTimeout(5_000, () => socket.destroy(new Error('no answer from Redis in time')));
    socket.on('error', reject);
    socket.on('connect', () => {
      socket.write(`*${words.length}\r\n${words.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`).join('')}`);
    });
    socket.once('data', (text: string) => {
      socket.destroy();
      const line = text.split('\r\n')[0] ?? '';
      if (line.startsWith('-')) reject(new Error(line.slice(1)));
      else resolve(line);
    });
  });
}
