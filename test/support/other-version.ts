import { cpSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { ROOT } from './service-process.ts';

const CATALOGUE = 'shared/events/catalogue.ts';

/**
 * A copy of the sources in which events of one type have another version, as in the next release.
 * @param event such as `object.changed`
 * @returns its root, for `startServiceProcess`
 */
export function nextVersion(folder: string, event: string): string {
  const left = new Set(['node_modules', '.git']);
  cpSync(ROOT, folder, { recursive: true, filter: (path) => !left.has(basename(path)) });
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  const file = join(folder, CATALOGUE);
  const before = readFileSync(file, 'utf8');
  const after = before.replace(`\${PREFIX}${event}.v1`, `\${PREFIX}${event}.v2`);
  if (after === before) throw new Error(`${CATALOGUE} has no ${event}.v1`);
  writeFileSync(file, after);
  return folder;
}
