import { writeFileSync } from 'node:fs';
import type { SerializedError } from 'vitest';
import type { Reporter, TestModule } from 'vitest/node';

/** What one vitest run came to; written as JSON to the file named by BERTH_TEST_COUNTS. */
export interface TestCounts {
  passed: number;
  failed: number;
  skipped: { test: string; reason: string }[];
}

/**
 * Counts tests for scripts/test-all.ts. A module that cannot be loaded and an error outside any test count as a
 * failed test each: nothing that went wrong may be missing from the sum.
 */
class CountReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandled: readonly SerializedError[]): void {
    const counts: TestCounts = { passed: 0, failed: unhandled.length, skipped: [] };
    for (const module of modules) {
      // A failed hook fails its suite; its tests are then reported as skipped.
      const brokenSuites = [...module.children.allSuites()].filter((suite) => suite.errors().length > 0);
      counts.failed += module.errors().length + brokenSuites.length;
      for (const test of module.children.allTests()) {
        const result = test.result();
        if (result.state === 'passed') {
          counts.passed += 1;
        } else if (result.state === 'failed') {
          counts.failed += 1;
        } else {
          const reason = result.state === 'skipped' ? result.note : 'never ran';
          counts.skipped.push({ test: test.fullName, reason: reason ?? 'no reason given' });
        }
      }
    }
    const file = process.env['BERTH_TEST_COUNTS'];
    if (file !== undefined) {
      writeFileSync(file, JSON.stringify(counts));
    }
  }
}

// vitest loads reporters by their default export.
export { CountReporter as default };
