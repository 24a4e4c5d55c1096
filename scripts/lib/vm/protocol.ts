import { readFileSync } from 'node:fs';
import type { TestCounts } from '../count-reporter.ts';

interface StepResult {
  title: string;
  seconds: number;
  passed: number;
  failed: number;
  notes: string[];
}

/** Between these lines of test/vm.md stands the last result of a suite. */
const begin = (suite: string): string => `<!-- last result of ${suite}: written by scripts/vm --record -->`;
const end = (suite: string): string => `<!-- end of the last result of ${suite} -->`;

/** What a run came to, told while it happens and written down at its end. */
export class Protocol {
  readonly #started = performance.now();
  readonly #results: StepResult[] = [];
  #current: StepResult | undefined;
  /** True once a step could not be taken at all: those after it would only fail for the same reason. */
  isBroken = false;

  get passed(): number {
    return sum(this.#results.map(({ passed }) => passed));
  }

  get failed(): number {
    return sum(this.#results.map(({ failed }) => failed));
  }

  /** Takes a step; an error that it throws counts as a failure and ends the run. */
  async step(title: string, action: () => Promise<void>): Promise<void> {
    const result: StepResult = { title, seconds: 0, passed: 0, failed: 0, notes: [] };
    const started = performance.now();
    this.#current = result;
    this.#results.push(result);
    this.note(title);
    try {
      await action();
      // A step without tests has shown what its title says.
      result.passed += result.passed + result.failed === 0 ? 1 : 0;
    } catch (error) {
      result.failed += 1;
      this.isBroken = true;
      this.note(`FAILED: ${error instanceof Error ? error.message : String(error)}`);
    }
    result.seconds = (performance.now() - started) / 1000;
    this.#current = undefined;
  }

  /** Adds the counts of a test run; a run that counted nothing is a failure. */
  count(counts: TestCounts | undefined): void {
    if (this.#current !== undefined) {
      this.#current.passed += counts?.passed ?? 0;
      this.#current.failed += counts?.failed.length ?? 1;
    }
  }

  /** A figure worth keeping beside the step's counts. */
  figure(text: string): void {
    this.#current?.notes.push(text);
    this.note(text);
  }

  /** A line on the terminal, with the seconds since the start. */
  note(text: string): void {
    console.log(`${((performance.now() - this.#started) / 1000).toFixed(1).padStart(7)}  ${text}`);
  }

  /** The page with this result instead of the last one. */
  page(suite: string, accelerator: string, file: string): string {
    const page = readFileSync(file, 'utf8');
    const [before = '', rest = ''] = page.split(begin(suite));
    const [, after = ''] = rest.split(end(suite));
    return `${before}${begin(suite)}\n${this.#summary(accelerator)}\n${end(suite)}${after}`;
  }

  #summary(accelerator: string): string {
    const rows = this.#results.map(
      ({ title, seconds, passed, failed, notes }) =>
        `| ${[title, ...notes].join('; ')} | ${passed} | ${failed} | ${seconds.toFixed(0)} s |`,
    );
    const date = new Date().toISOString().slice(0, 10);
    const means = accelerator === 'kvm' ? 'KVM' : 'software emulation';
    return [
      `${date}, ${means}: ${this.passed} passed, ${this.failed} failed.`,
      '',
      '| step | passed | failed | took |',
      '|---|---|---|---|',
      ...rows,
    ].join('\n');
  }
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
