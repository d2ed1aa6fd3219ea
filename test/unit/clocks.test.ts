import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const ROOT = join(import.meta.dirname, '../..');

test('how long something takes is measured by a clock that nobody sets', () => {
  const files = globSync('{functions,bridge,shared}/**/*.ts', { cwd: ROOT });
  const byTheDate = files.filter((file) => readFileSync(join(ROOT, file), 'utf8').includes('Date.now('));
  // Writes into a Lease when that was.
  expect(byTheDate).toEqual(['bridge/lead/leader.ts']);
});
