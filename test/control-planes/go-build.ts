import { spawn, spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { environmentVariable } from './executables.ts';
import { acquireLock } from './lock.ts';

const PROGRESS_MS = 15_000;
const OUTPUT_KEPT = 4_000;

/** What a control plane is built from: a Go module of ours that pins everything, and a package in it. */
export interface BinarySource {
  /** Folder under `modules/`. */
  readonly module: string;
  readonly package: string;
  /** How long the very first build takes on two cores, for people who wait for it. */
  readonly firstBuildMinutes: number;
}

export interface BuildOrder extends BinarySource {
  readonly name: string;
  /** Where the executable goes. */
  readonly target: string;
  /** Folder with the `go.mod`. */
  readonly folder: string;
}

/**
 * Builds an executable with the Go toolchain. Says on stderr that it does, since a first build takes minutes. Two
 * processes that want the same one build it once: the second waits for the first.
 */
export async function buildBinary(order: BuildOrder): Promise<void> {
  mkdirSync(dirname(order.target), { recursive: true });
  const release = await acquireLock(`${order.target}.lock`, () =>
    say(`waiting for another process that builds ${order.name}`),
  );
  try {
    if (existsSync(order.target)) return;
    requireGo(order);
    const unfinished = join(dirname(order.target), `.${basename(order.target)}.${process.pid}`);
    try {
      await goBuild(order, unfinished);
      chmodSync(unfinished, 0o755);
      // Renamed only when complete: whoever finds the file may run it.
      renameSync(unfinished, order.target);
    } finally {
      rmSync(unfinished, { force: true });
    }
  } finally {
    release();
  }
}

function requireGo({ name, folder }: BuildOrder): void {
  const wanted = /^go (\d+)\.(\d+)/m.exec(readFileSync(join(folder, 'go.mod'), 'utf8'));
  const remedy = `Install Go >= 1.26 (https://go.dev/dl), or set ${environmentVariable(name)} to a ready ${name}.`;
  // Asked inside the module, where a Go with GOTOOLCHAIN=auto fetches the toolchain that the module wants.
  const answer = spawnSync('go', ['env', 'GOVERSION'], { cwd: folder, encoding: 'utf8' });
  if (answer.error) throw new Error(`${name} is not there and can't be built: Go is not installed. ${remedy}`);
  const found = /^go(\d+)\.(\d+)/.exec(answer.stdout.trim());
  const tooOld =
    found && wanted && Number(found[1]) * 1000 + Number(found[2]) < Number(wanted[1]) * 1000 + Number(wanted[2]);
  if (answer.status !== 0 || !found || tooOld)
    throw new Error(
      `${name} can't be built: ${answer.stderr.trim() || `${answer.stdout.trim()} is too old`}. ${remedy}`,
    );
}

async function goBuild(order: BuildOrder, output: string): Promise<void> {
  const started = Date.now();
  const minutes = `the first build takes about ${order.firstBuildMinutes} minutes on two cores and is cached`;
  say(`building ${order.name} with Go; ${minutes}`);
  const build = spawn('go', ['build', '-trimpath', '-ldflags', '-s -w', '-o', output, order.package], {
    cwd: order.folder,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let tail = '';
  const keep = (chunk: Buffer): void => void (tail = (tail + chunk.toString()).slice(-OUTPUT_KEPT));
  build.stdout.on('data', keep);
  build.stderr.on('data', keep);
  const stopWithUs = (): void => void build.kill();
  process.once('exit', stopWithUs);
  const finished = new Promise<number | null>((resolve, reject) => {
    build.once('error', reject);
    build.once('close', resolve);
  });
  const progress = new AbortController();
  const reports = reportUntil(progress.signal, () =>
    say(`building ${order.name}: ${Math.round((Date.now() - started) / 1000)} s so far; ${minutes}`),
  );
  const code = await finished.finally(() => progress.abort());
  process.off('exit', stopWithUs);
  await reports;
  if (code !== 0) throw new Error(explain(order, tail));
  say(`built ${order.name} in ${Math.round((Date.now() - started) / 1000)} s`);
}

async function reportUntil(signal: AbortSignal, report: () => void): Promise<void> {
  while (!signal.aborted) {
    await sleep(PROGRESS_MS, undefined, { signal }).catch(() => undefined);
    if (!signal.aborted) report();
  }
}

function explain({ name }: BuildOrder, output: string): string {
  const offline = /dial tcp|no such host|i\/o timeout|connection refused|proxy\.golang\.org|TLS handshake/.test(output);
  const remedy = offline
    ? `The Go module proxy can't be reached (see GOPROXY). With a network, build once; without one, set ${environmentVariable(name)} to a ready ${name}.`
    : `Set ${environmentVariable(name)} to a ready ${name} to do without this build.`;
  return `building ${name} failed. ${remedy}\n${output}`;
}

function say(line: string): void {
  process.stderr.write(`[control-planes] ${line}\n`);
}
