import { defineConfig } from 'vitest/config';

const root = import.meta.dirname;

/** These need a Redis of their own and no control plane. */
const REDIS_ONLY = [
  'contract/*.test.ts',
  'integration/queue/*.test.ts',
  'integration/delivery/*.test.ts',
  'integration/redis-topologies/*.test.ts',
];

/** Real servers on a shared machine: where nobody can look at a failure, it has to happen twice. */
const retry = process.env['CI'] ? 1 : 0;

/** Much longer than a wait takes at most (`support/wait.ts`), so that what it says is what a failure shows. */
const slow = { pool: 'forks', retry, testTimeout: 300_000, hookTimeout: 300_000 } as const;

/** `unit` needs nothing but Node, `queue` a redis-server; `real` starts real control planes (see `control-planes/`). */
export default defineConfig({
  root,
  test: {
    reporters: ['default', './support/totals-reporter.ts'],
    projects: [
      { root, test: { name: 'unit', include: ['unit/**/*.test.ts'] } },
      { root, test: { ...slow, name: 'queue', include: REDIS_ONLY } },
      {
        root,
        test: {
          ...slow,
          name: 'slow',
          include: ['slow/**/*.test.ts'],
          globalSetup: ['support/global-setup.ts'],
          maxWorkers: 1,
        },
      },
      {
        root,
        test: {
          ...slow,
          name: 'real',
          include: ['integration/**/*.test.ts', 'e2e/**/*.test.ts'],
          exclude: REDIS_ONLY,
          globalSetup: ['support/global-setup.ts'],
          // All files share one kcp, and two cores.
          maxWorkers: 2,
        },
      },
    ],
  },
});
