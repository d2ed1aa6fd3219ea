// Runs on whatever Node npm runs on (20 is enough): installs the locked dependencies, among them the Node that
// everything else runs on, when they are missing or not those of the lockfile.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dirname ?? new URL('.', import.meta.url).pathname, '..');
const marker = join(root, 'node_modules', '.installed');
const wanted = createHash('sha256')
  .update(readFileSync(join(root, 'package-lock.json')))
  .digest('hex');

if (!existsSync(marker) || readFileSync(marker, 'utf8') !== wanted) {
  process.stderr.write('installing the locked dependencies (npm ci) …\n');
  const { status, error } = spawnSync('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error'], {
    cwd: root,
    stdio: ['ignore', 2, 2],
    shell: process.platform === 'win32',
  });
  if (error || status !== 0) {
    process.stderr.write(`npm ci failed${error ? `: ${error.message}` : ''}; it needs the npm registry\n`);
    process.exit(status ?? 1);
  }
  writeFileSync(marker, wanted);
}
