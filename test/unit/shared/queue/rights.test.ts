import { globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { queueKeys } from '../../../../shared/queue/keys.ts';
import type { RedisClient } from '../../../../shared/queue/redis.ts';
import { deniedCommands } from '../../../../shared/queue/rights.ts';

const OURS = join(import.meta.dirname, '../../../../shared/queue');
const BULLMQ = dirname(fileURLToPath(import.meta.resolve('bullmq')));

/** All that could send a command: scripts, and calls of a client by their names. */
function used(command: string): boolean {
  return new RegExp(`call\\(\\s*['"]${command}['"]|\\.${command}\\(`, 'i').test(sources);
}

const sources = [
  ...globSync(`${BULLMQ}/**/*.js`),
  ...globSync(`${OURS}/*.ts`).filter((file) => !file.endsWith('/rights.ts')),
]
  .map((file) => readFileSync(file, 'utf8'))
  .join('\n');

test('no command is asked for that nothing uses', async () => {
  let script = '';
  const redis = {
    eval: (text: string) => Promise.resolve(((script = text), [])),
    bzpopmin: () => Promise.resolve(null),
    xread: () => Promise.resolve(null),
    evalsha: () => Promise.resolve(null),
  } as unknown as RedisClient;
  await deniedCommands(redis, queueKeys('db'));
  const tried = [...script.matchAll(/^try\('(\w+)'/gm)].map(([, command]) => command as string);
  expect(tried).toContain('zadd');
  expect(tried.filter((command) => !used(command))).toEqual([]);
});
