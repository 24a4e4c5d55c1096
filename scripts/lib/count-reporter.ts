import { writeFileSync } from 'node:fs';
import type { SerializedError } from 'vitest';
import type { Reporter, TestModule } from 'vitest/node';

const SLOWEST = 10;

/** What one vitest run came to; written as JSON to the file named by BERTH_TEST_COUNTS. */
export interface TestCounts {
  passed: number;
  failed: FailedTest[];
  skipped: { test: string; reason: string }[];
  /** Files that took longest, in seconds. */
  slowest: { file: string; seconds: number }[];
}

export interface FailedTest {
  readonly test: string;
  /** First line of what it said. */
  readonly error: string;
}

/**
 * Counts tests for scripts/test-all.ts. A module that cannot be loaded and an error outside any test count as a
 * failed test each: nothing that went wrong may be missing from the sum. What has ended is written at once, and what
 * runs then as failed: a run that is killed leaves a file that says so.
 */
class CountReporter implements Reporter {
  readonly #running = new Set<string>();
  readonly #ended: TestModule[] = [];

  onTestModuleStart({ relativeModuleId }: TestModule): void {
    this.#running.add(relativeModuleId);
    this.#writeSoFar();
  }

  onTestModuleEnd(module: TestModule): void {
    this.#running.delete(module.relativeModuleId);
    this.#ended.push(module);
    this.#writeSoFar();
  }

  onTestRunEnd(modules: readonly TestModule[], unhandled: readonly SerializedError[]): void {
    write(count(modules, unhandled));
  }

  #writeSoFar(): void {
    const counts = count(this.#ended, []);
    counts.failed.push(
      ...[...this.#running].map((file) => failed(file, [{ message: 'ran when all was ended' }])),
    );
    write(counts);
  }
}

function count(modules: readonly TestModule[], unhandled: readonly SerializedError[]): TestCounts {
  const counts: TestCounts = {
    passed: 0,
    failed: unhandled.map((error) => failed('outside of any test', [error])),
    skipped: [],
    slowest: slowest(modules),
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
  return counts;
}

function write(counts: TestCounts): void {
  const file = process.env['BERTH_TEST_COUNTS'];
  if (file !== undefined) {
    writeFileSync(file, JSON.stringify(counts));
  }
}

function slowest(modules: readonly TestModule[]): TestCounts['slowest'] {
  return modules
    .map((module) => {
      const { collectDuration, duration } = module.diagnostic();
      return { file: module.relativeModuleId, seconds: Math.round((collectDuration + duration) / 1000) };
    })
    .toSorted((one, other) => other.seconds - one.seconds)
    .slice(0, SLOWEST);
}

function failed(test: string, errors: readonly SerializedError[]): FailedTest {
  return { test, error: errors[0]?.message?.split('\n')[0] ?? 'no reason given' };
}

// vitest loads reporters by their default export.
export { CountReporter as default };
