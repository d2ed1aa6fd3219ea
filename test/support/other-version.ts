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
  return mutant(folder, { file: CATALOGUE, from: `\${PREFIX}${event}.v1`, to: `\${PREFIX}${event}.v2` });
}

/**
 * A copy of the sources in which one place is another.
 * @returns its root, for `startServiceProcess`
 */
export function mutant(folder: string, { file, from, to }: { file: string; from: string; to: string }): string {
  const left = new Set(['node_modules', '.git']);
  cpSync(ROOT, folder, { recursive: true, filter: (path) => !left.has(basename(path)) });
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  const path = join(folder, file);
  const before = readFileSync(path, 'utf8');
  const after = before.replace(from, () => to);
  if (after === before) throw new Error(`${file} has no ${from}`);
  writeFileSync(path, after);
  return folder;
}
