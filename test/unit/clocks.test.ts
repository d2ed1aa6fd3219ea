import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const ROOT = join(import.meta.dirname, '../..');

test('how long something takes is measured by a clock that nobody sets', () => {
  const files = globSync('{functions,bridge,shared}/**/*.ts', { cwd: ROOT });
  const byTheDate = files.filter((file) => readFileSync(join(ROOT, file), 'utf8').includes('Date.now'));
  // What writes down when something was, for people and for other processes.
  expect(byTheDate.toSorted()).toEqual(['bridge/lead/leader.ts', 'shared/kube/server-clock.ts']);
});
