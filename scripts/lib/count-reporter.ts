import { writeFileSync } from 'node:fs';
import type { SerializedError } from 'vitest';
import type { Reporter, TestModule } from 'vitest/node';

/** What one vitest run came to; written as JSON to the file named by BERTH_TEST_COUNTS. */
export interface TestCounts {
  passed: number;
  failed: FailedTest[];
  skipped: { test: string; reason: string }[];
}

export interface FailedTest {
  readonly test: string;
  /** First line of what it said. */
  readonly error: string;
}

/**
 * Counts tests for scripts/test-all.ts. A module that cannot be loaded and an error outside any test count as a
 * failed test each: nothing that went wrong may be missing from the sum.
 */
class CountReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandled: readonly SerializedError[]): void {
    const counts: TestCounts = {
      passed: 0,
      failed: unhandled.map((error) => failed('outside of any test', [error])),
      skipped: [],
    };
    for (const module of modules) {
      // A failed hook fails its suite; its tests are then reported as skipped.
      for (const suite of [...module.children.allSuites()].filter((one) => one.errors().length > 0)) {
        counts.failed.push(failed(suite.fullName, suite.errors()));
      }
      counts.failed.push(...module.errors().map((error) => failed(module.relativeModuleId, [error])));
      for (const test of module.children.allTests()) {
        const result = test.result();
        if (result.state === 'passed') {
          counts.passed += 1;
        } else if (result.state === 'failed') {
          counts.failed.push(failed(`${module.relativeModuleId}: ${test.fullName}`, result.errors));
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

function failed(test: string, errors: readonly SerializedError[]): FailedTest {
  return { test, error: errors[0]?.message?.split('\n')[0] ?? 'no reason given' };
}

// vitest loads reporters by their default export.
export { CountReporter as default };
