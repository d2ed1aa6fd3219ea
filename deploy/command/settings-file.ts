import { readFileSync } from 'node:fs';
import { isRuntimeError, messageOf, RuntimeError } from '../../shared/errors.ts';

/**
 * A file that a setting names.
 * @param setting the flag or variable, for the error
 * @throws RuntimeError `INVALID_SETTINGS` where it can't be read, or holds nothing
 */
export function settingsFile(path: string, setting: string): string {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    throw new RuntimeError(
      'INVALID_SETTINGS',
      `${setting}: ${messageOf(error)}; name a file that this process may read`,
    );
  }
  if (text.trim() === '') throw new RuntimeError('INVALID_SETTINGS', `${setting}: ${path} is empty`);
  return text;
}

/** Refuses what was read by a setting: the problem as a checking function has it, undefined where there is none. */
export function refuse(setting: string, problem: string | undefined): void {
  if (problem !== undefined) throw new RuntimeError('INVALID_SETTINGS', `${setting}: ${problem}`);
}

/** What somebody opens by a setting, who names the file and not the setting. */
export async function bySetting<T>(setting: string, opened: Promise<T>): Promise<T> {
  try {
    return await opened;
  } catch (error) {
    if (!isRuntimeError(error, 'INVALID_SETTINGS')) throw error;
    throw new RuntimeError('INVALID_SETTINGS', `${setting}: ${messageOf(error)}`, { cause: error });
  }
}
