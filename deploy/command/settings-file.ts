import { readFileSync } from 'node:fs';
import { messageOf, RuntimeError } from '../../shared/errors.ts';

/**
 * A file that a setting names.
 * @param setting the flag or variable, for the error
 * @throws RuntimeError `INVALID_SETTINGS`
 */
export function settingsFile(path: string, setting: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw new RuntimeError('INVALID_SETTINGS', `${setting}: ${messageOf(error)}`);
  }
}
