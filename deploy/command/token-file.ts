import { TokenFile } from '../../functions/host/bearer.ts';
import type { RereadFiles } from './reread-files.ts';
import { settingsFile } from './settings-file.ts';

/**
 * The file that `--token-file` names, where it does.
 * @throws RuntimeError `INVALID_SETTINGS` where it can't be read, or holds nothing
 */
export async function tokenFile(path: string | undefined, files: RereadFiles): Promise<TokenFile | undefined> {
  if (path === undefined) return undefined;
  settingsFile(path, '--token-file');
  const token = new TokenFile(path);
  await token.read();
  files.follow(path, '--token-file');
  return token;
}
