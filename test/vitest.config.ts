import { defineConfig } from 'vitest/config';

const root = import.meta.dirname;

/** `unit` needs nothing but Node; `real` starts real control planes (see `control-planes/`). */
export default defineConfig({
  root,
  test: {
    projects: [
      { root, test: { name: 'unit', include: ['unit/**/*.test.ts'] } },
      {
        root,
        test: {
          name: 'real',
          include: ['integration/**/*.test.ts', 'e2e/**/*.test.ts'],
          globalSetup: ['support/global-setup.ts'],
          pool: 'forks',
          // All files share one kcp, and two cores.
          maxWorkers: 2,
          testTimeout: 120_000,
          hookTimeout: 180_000,
        },
      },
    ],
  },
});
