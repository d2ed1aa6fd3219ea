import type { Logger } from 'pino';
import { messageOf } from '../../shared/errors.ts';
import { settingsFile } from './settings-file.ts';
import { FILE_LOOK_MS } from './tuning.ts';

/**
 * Files that are replaced while the process runs, such as tokens. Whoever uses one goes on with what it held last while it
 * can't be read; this says so. It looks by itself, since a process that isn't ready may be asked for nothing that would.
 */
export class RereadFiles {
  readonly #log: Logger;
  readonly #files = new Map<string, { setting: string; problem: string | undefined }>();

  constructor(log: Logger) {
    this.#log = log;
  }

  /** @param setting the flag or variable that leads to the file */
  follow(path: string, setting: string): void {
    if (this.#files.size === 0) setInterval(() => this.#look(), FILE_LOOK_MS).unref();
    this.#files.set(path, { setting, problem: undefined });
  }

  /** A line for each file that can't be read. */
  problems(): string[] {
    return [...this.#files.values()].flatMap(({ problem }) => problem ?? []);
  }

  #look(): void {
    for (const [path, file] of this.#files) {
      const before = file.problem;
      file.problem = problemOf(path, file.setting);
      if (file.problem === before) continue;
      if (file.problem !== undefined)
        this.#log.warn({ problem: file.problem }, 'a file is not readable; what it held before stays in use');
      else this.#log.info({ file: path }, 'the file is readable again');
    }
  }
}

function problemOf(path: string, setting: string): string | undefined {
  try {
    settingsFile(path, setting);
    return undefined;
  } catch (error) {
    return messageOf(error);
  }
}
