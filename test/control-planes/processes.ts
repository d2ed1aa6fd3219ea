import { spawn, type ChildProcess } from 'node:child_process';
import { closeSync, mkdirSync, openSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const STOP_GRACE_MS = 10_000;
const READY_TIMEOUT_MS = 120_000;
const READY_POLL_MS = 200;
const LOG_TAIL_LINES = 40;

export interface ProcessOrder {
  /** For messages. */
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly logFile: string;
  readonly cwd?: string;
  readonly env?: Record<string, string>;
  /** Asked again and again until it is true; what it throws is shown when time is up. */
  readonly ready: () => Promise<boolean>;
  readonly readyTimeoutMs?: number;
}

/** A process that we started, and that never outlives us. */
export interface ManagedProcess {
  readonly name: string;
  readonly pid: number;
  readonly logFile: string;
  /** SIGTERM, and SIGKILL for one that does not heed it. Resolves when it has ended; also when it had already. */
  stop(): Promise<void>;
  /** SIGKILL at once, as a crash. */
  kill(): Promise<void>;
  /** Freezes or thaws it, as a machine that hangs. */
  signal(signal: 'SIGSTOP' | 'SIGCONT'): void;
  readonly running: boolean;
  /** Of one that has ended by itself or by SIGTERM. */
  readonly exitCode: number | null;
}

/** Starts a process with its output in a log file and resolves once it is ready. One that never is, is stopped again. */
export async function startProcess(order: ProcessOrder): Promise<ManagedProcess> {
  mkdirSync(dirname(order.logFile), { recursive: true });
  const log = openSync(order.logFile, 'a');
  const child = spawn(order.command, order.args, {
    stdio: ['ignore', log, log],
    // Its own group: an interrupt at the terminal reaches us first, and we stop it in order.
    detached: true,
    ...(order.cwd ? { cwd: order.cwd } : {}),
    env: { ...process.env, ...order.env },
  });
  closeSync(log);
  const ended = new Promise<string>((resolve) => {
    child.once('error', (error) => resolve(error.message));
    child.once('exit', (code, signal) => resolve(`it ended with ${signal ?? `code ${code}`}`));
  });
  const managed = new Child(order, child, ended);
  try {
    await untilReady(order, ended, () => managed.running);
  } catch (error) {
    await managed.kill();
    throw error;
  }
  return managed;
}

class Child implements ManagedProcess {
  readonly name: string;
  readonly pid: number;
  readonly logFile: string;
  readonly #child: ChildProcess;
  readonly #ended: Promise<string>;

  constructor(order: ProcessOrder, child: ChildProcess, ended: Promise<string>) {
    this.name = order.name;
    this.logFile = order.logFile;
    this.pid = child.pid ?? 0;
    this.#child = child;
    this.#ended = ended;
    // Neither it nor its guard keep this process alive.
    child.unref();
    if (child.pid) guard(child.pid, ended);
  }

  get running(): boolean {
    return this.pid !== 0 && this.#child.exitCode === null && this.#child.signalCode === null;
  }

  get exitCode(): number | null {
    return this.#child.exitCode;
  }

  async stop(): Promise<void> {
    if (this.running) this.#child.kill('SIGTERM');
    const gaveUp = new AbortController();
    const late = sleep(STOP_GRACE_MS, 'late', { signal: gaveUp.signal }).catch(() => 'ended');
    if ((await Promise.race([this.#ended, late])) === 'late') this.#child.kill('SIGKILL');
    gaveUp.abort();
    await this.#end();
  }

  async kill(): Promise<void> {
    if (this.running) this.#child.kill('SIGKILL');
    await this.#end();
  }

  /** Who waits for its end must be kept alive by it. */
  async #end(): Promise<void> {
    if (this.running) this.#child.ref();
    await this.#ended;
  }

  signal(signal: 'SIGSTOP' | 'SIGCONT'): void {
    this.#child.kill(signal);
  }
}

/**
 * Ends the process when we end, however that happens: a shell waits for its standard input to close, which the kernel
 * does for us even after SIGKILL. Handlers for exit and signals would miss that case.
 */
function guard(pid: number, ended: Promise<string>): void {
  // Looks often, so as not to kill a later process that got the same number.
  const script =
    'read -r _; kill -TERM "$1" || exit; for _ in 1 2 3 4 5 6 7 8 9 10; do sleep 0.3; kill -0 "$1" || exit; done; kill -KILL "$1"';
  const watcher = spawn('sh', ['-c', script, 'guard', String(pid)], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  });
  watcher.unref();
  (watcher.stdin as unknown as { unref(): void }).unref();
  void ended.then(() => watcher.kill('SIGKILL'));
}

async function untilReady(order: ProcessOrder, ended: Promise<string>, running: () => boolean): Promise<void> {
  const limit = order.readyTimeoutMs ?? READY_TIMEOUT_MS;
  const deadline = Date.now() + limit;
  let lastProblem = '';
  for (;;) {
    try {
      if (await order.ready()) return;
    } catch (error) {
      lastProblem = error instanceof Error ? error.message : String(error);
    }
    if (!running()) throw failure(order, await ended, lastProblem);
    if (Date.now() > deadline) throw failure(order, `it was not ready after ${limit / 1000} s`, lastProblem);
    await sleep(READY_POLL_MS);
  }
}

function failure(order: ProcessOrder, what: string, lastProblem: string): Error {
  const asked = lastProblem ? ` (last answer: ${lastProblem})` : '';
  return new Error(`${order.name} did not start: ${what}${asked}. End of ${order.logFile}:\n${tail(order.logFile)}`);
}

function tail(file: string): string {
  return readFileSync(file, 'utf8').trimEnd().split('\n').slice(-LOG_TAIL_LINES).join('\n');
}
