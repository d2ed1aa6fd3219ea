import { appendFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { answersOk } from '../control-planes/readiness.ts';
import { freePort } from '../control-planes/ports.ts';
import { startProcess, type ManagedProcess } from '../control-planes/processes.ts';
import type { CallName, JournalEntry } from './journal.ts';
import { PROVIDER_NAMESPACE } from './service.ts';

export const JOURNAL_FILE = 'JOURNAL_FILE';
export const HOLD_FOLDER = 'HOLD_FOLDER';
/** How long a call of the provider takes beside its work. */
export const CALL_MS = 'CALL_MS';

export const ROOT = join(import.meta.dirname, '..', '..');
export const COMMAND = join(ROOT, 'deploy', 'command', 'main.ts');
export const FOO_MODULE = join(ROOT, 'functions', 'providers', 'foo', 'provider.ts');
export const JOURNALLED_MODULE = join(import.meta.dirname, 'providers', 'journalled-foo.ts');
export const LEAKY_MODULE = join(import.meta.dirname, 'providers', 'leaky-foo.ts');

export interface ServiceProcess extends ManagedProcess {
  /** Address of `/readyz`. */
  readonly readyUrl: string;
  readonly logFile: string;
}

export interface ServiceOptions {
  /** `run`, `bridge`, or `function` and its name. */
  args: readonly string[];
  dir: string;
  /** Of another version; default: this one. */
  root?: string;
  /** Default: Foo with a journal, of the same version. */
  provider?: string;
  /** Default `debug`. */
  verbosity?: string;
  env: Record<string, string>;
}

let started = 0;

/** Starts the command as a user does, and waits until it is ready. Nothing of this process's environment reaches it. */
export async function startServiceProcess({
  args,
  dir,
  root = ROOT,
  provider = join(root, relative(ROOT, JOURNALLED_MODULE)),
  verbosity = 'debug',
  env,
}: ServiceOptions): Promise<ServiceProcess> {
  const port = await freePort();
  const readyUrl = `http://127.0.0.1:${port}/readyz`;
  const logFile = join(dir, `service-${++started}-${args.join('-').replaceAll('/', '_')}.log`);
  const flags = ['--provider', provider, '--provider-name', 'foo', '--verbosity', verbosity];
  const managed = await startProcess({
    name: `service-provider ${args.join(' ')}`,
    command: process.execPath,
    args: [join(root, relative(ROOT, COMMAND)), ...args, ...flags, '--health-probe-bind-address', `127.0.0.1:${port}`],
    logFile,
    cwd: root,
    env: { POD_NAMESPACE: PROVIDER_NAMESPACE, ...env },
    ready: () => answersOk(readyUrl),
  });
  return Object.assign(managed, { readyUrl });
}

export function heldCallFile(folder: string, call: CallName, name: string): string {
  return join(folder, `${call}-${name}`);
}

/** What a test and the providers in other processes know of each other. */
export class Desk {
  readonly journalFile: string;
  readonly holdFolder: string;

  constructor(dir: string) {
    this.journalFile = join(dir, 'journal.jsonl');
    this.holdFolder = join(dir, 'held');
    mkdirSync(this.holdFolder, { recursive: true });
  }

  get env(): Record<string, string> {
    return { [JOURNAL_FILE]: this.journalFile, [HOLD_FOLDER]: this.holdFolder };
  }

  get journal(): JournalEntry[] {
    if (!existsSync(this.journalFile)) return [];
    const lines = readFileSync(this.journalFile, 'utf8').split('\n');
    return lines.filter((line) => line !== '').map((line) => JSON.parse(line) as JournalEntry);
  }

  hold(call: CallName, name: string): void {
    writeFileSync(heldCallFile(this.holdFolder, call, name), '');
  }

  release(call: CallName, name: string): void {
    rmSync(heldCallFile(this.holdFolder, call, name));
  }

  /** Marks the end of every call of a process. Only after it has really ended. */
  killed(pid: number): void {
    const open = this.journal.filter((entry) => entry.pid === pid && entry.event === 'start');
    for (const entry of open) appendFileSync(this.journalFile, `${JSON.stringify({ ...entry, event: 'killed' })}\n`);
  }
}
