import type { Reporter, TestModule } from 'vitest/node';

/** Ends the output with one plain line of totals, for scripts that read it. */
export default class TotalsReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], errors: readonly unknown[]): void {
    const count = { passed: 0, failed: 0, skipped: 0 };
    for (const module of modules) {
      for (const test of module.children.allTests()) {
        const { state } = test.result();
        if (state !== 'pending') count[state] += 1;
      }
      // A file that could not be loaded, or whose hooks failed, has no failed test of its own.
      if (module.state() === 'failed' && ![...module.children.allTests('failed')].length) count.failed += 1;
    }
    count.failed += errors.length;
    const skipped = count.skipped > 0 ? `, ${count.skipped} skipped` : '';
    process.on('exit', () => process.stdout.write(`\n${count.passed} passed, ${count.failed} failed${skipped}\n`));
  }
}
