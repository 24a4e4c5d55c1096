import type { TestCounts } from '../count-reporter.ts';
import { GUEST_REPOSITORY } from './image.ts';
import type { Machine } from './machine.ts';
import type { Protocol } from './protocol.ts';

export interface StepContext {
  machine: Machine;
  protocol: Protocol;
  cuts: number;
}

/** Emulated, a test file may take minutes. */
const TESTS_MS = 3_600_000;
const EMULATED_PATIENCE = 10;

export function guestTest(name: string): string {
  return `test/vm/${name}.test.ts`;
}

/** Runs test files in the guest and counts them. */
export async function guestTests(
  { machine, protocol }: StepContext,
  environment: string,
  projects: readonly string[],
  files: readonly string[],
): Promise<void> {
  const counts = '/run/test-counts.json';
  const patience = machine.accelerator === 'tcg' ? EMULATED_PATIENCE : 1;
  const command = [
    `cd ${GUEST_REPOSITORY} && rm -f ${counts};`,
    `NO_COLOR=1 BERTH_TEST_PATIENCE=${patience} BERTH_TEST_COUNTS=${counts}`,
    `${environment} node_modules/.bin/vitest run`,
    ...projects.map((project) => `--project ${project}`),
    '--reporter=verbose --reporter=./scripts/lib/count-reporter.ts',
    ...files,
  ];
  await machine.run(command.join(' '), {
    timeoutMs: TESTS_MS,
    onLine: (line) => protocol.note(`    ${line}`),
  });
  const { exitCode, output } = await machine.run(`cat ${counts}`);
  const result: TestCounts | undefined = exitCode === 0 ? JSON.parse(output) : undefined;
  protocol.count(result);
}

/** Runs a command in the guest; throws its output when it fails. */
export async function must(machine: Machine, command: string): Promise<string> {
  const { exitCode, output } = await machine.run(command, { timeoutMs: TESTS_MS });
  if (exitCode !== 0) {
    throw new Error(`${command}: exit code ${exitCode}\n${output.slice(-3000)}`);
  }
  return output.trim();
}
