/**
 * Runs test projects one after another and sums them up: `tsx scripts/test-all.ts [--check] [project ...]`, all
 * projects by default. `--check` also runs the static checks, each counted as one test.
 *
 * All of it has 80 minutes: then the project that runs is killed, and it is told which files were running. Whoever
 * ends this from outside, as continuous integration does after 90, keeps nothing of what it printed.
 *
 * The last line is `N passed, N failed, N skipped`. A skip whose line is not in test/expected-skips.txt is a failure:
 * "all green" must not come to mean "all skipped".
 */
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { TestCounts } from './lib/count-reporter.ts';
import { staticChecks } from './lib/checks.ts';
import { repositoryRoot } from './lib/sources.ts';
import { binPath, runSteps } from './lib/steps.ts';

const WHOLE_RUN_MS = 80 * 60_000;
const SLOW_SECONDS = 20;
/** What a run of its own takes: see test/long-files.txt. */
const LONG = 'long';
const PROJECTS = ['unit', 'api', 'contract', 'system', 'clients', 'faults'];

async function main(args: readonly string[]): Promise<number> {
  const chosen = args.filter((arg) => !arg.startsWith('--'));
  const unknown = chosen.filter((project) => ![...PROJECTS, LONG].includes(project));
  if (unknown.length > 0) {
    console.error(`unknown project ${unknown.join(', ')}; there are ${[...PROJECTS, LONG].join(', ')}`);
    return 2;
  }
  const deadline = Date.now() + WHOLE_RUN_MS;
  const total: TestCounts = { passed: 0, failed: [], skipped: [], slowest: [] };
  if (args.includes('--check')) {
    add(total, await runChecks());
  }
  for (const project of chosen.length > 0 ? chosen : PROJECTS) {
    add(total, await runProject(project, deadline));
  }
  const unexpected = total.skipped.filter(({ test }) => !expectedSkips().has(test));
  for (const { test, reason } of total.skipped) {
    console.log(`skipped: ${test} (${reason})`);
  }
  for (const { test } of unexpected) {
    console.log(`unexpected skip, not in test/expected-skips.txt: ${test}`);
  }
  for (const { file, seconds } of total.slowest.filter((one) => one.seconds >= SLOW_SECONDS)) {
    console.log(`slow: ${file} (${seconds} s)`);
  }
  // Said again at the end: what a long log keeps is its end.
  for (const { test, error } of total.failed) {
    console.log(`failed: ${test} (${error})`);
  }
  const failed = total.failed.length + unexpected.length;
  console.log(
    `${total.passed} passed, ${failed} failed, ${total.skipped.length - unexpected.length} skipped`,
  );
  return failed === 0 ? 0 : 1;
}

function add(total: TestCounts, counts: TestCounts): void {
  total.passed += counts.passed;
  total.failed.push(...counts.failed);
  total.skipped.push(...counts.skipped);
  total.slowest.push(...counts.slowest);
}

async function runChecks(): Promise<TestCounts> {
  const results = await runSteps(staticChecks(), 2, ({ name, ok, output, seconds }) => {
    console.log(`${ok ? 'ok  ' : 'FAIL'}  ${name.padEnd(16)} ${seconds.toFixed(1)} s`);
    if (!ok) {
      console.log(output.trim());
    }
  });
  const failed = results
    .filter((result) => !result.ok)
    .map((result) => ({ test: result.name, error: 'a static check, see above' }));
  return { passed: results.length - failed.length, failed, skipped: [], slowest: [] };
}

/** `deadline`: milliseconds since the epoch. */
async function runProject(project: string, deadline: number): Promise<TestCounts> {
  console.log(`\n===== ${project} =====`);
  if (Date.now() >= deadline) {
    const error = 'not begun: the run had used up its time';
    return { passed: 0, failed: [{ test: project, error }], skipped: [], slowest: [] };
  }
  const folder = mkdtempSync(path.join(tmpdir(), 'berth-counts-'));
  const file = path.join(folder, 'counts.json');
  try {
    const exitCode = await runVitest(project, file, deadline);
    if (!existsSync(file)) {
      const error = `vitest ended with ${exitCode} before it counted anything`;
      return { passed: 0, failed: [{ test: project, error }], skipped: [], slowest: [] };
    }
    const counts: TestCounts = JSON.parse(readFileSync(file, 'utf8'));
    // vitest knows reasons to fail that are no test: no test files, a worker that crashed, a leaked rejection.
    if (exitCode !== 0 && counts.failed.length === 0) {
      counts.failed.push({ test: project, error: `vitest ended with ${exitCode}, and no test failed` });
    }
    return counts;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function runVitest(project: string, countsFile: string, deadline: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const child = spawn(
      'vitest',
      [
        'run',
        '--project',
        project,
        '--reporter=default',
        `--reporter=${path.join(repositoryRoot, 'scripts/lib/count-reporter.ts')}`,
      ],
      {
        cwd: repositoryRoot,
        env: { ...process.env, PATH: binPath(), BERTH_TEST_COUNTS: countsFile },
        stdio: ['ignore', 'inherit', 'inherit'],
        // A process group of its own, which ends as one.
        detached: true,
      },
    );
    const end = (signal: NodeJS.Signals): void => void (child.pid && process.kill(-child.pid, signal));
    const kill = setTimeout(end, deadline - Date.now(), 'SIGKILL');
    process.once('SIGINT', end);
    process.once('SIGTERM', end);
    child.once('error', reject);
    child.once('close', (code, signal) => {
      clearTimeout(kill);
      process.off('SIGINT', end);
      process.off('SIGTERM', end);
      resolve(signal === null ? (code ?? 1) : 1);
    });
  });
}

/** Full names of tests that may be skipped; `#` starts a comment that says where and why. */
function expectedSkips(): Set<string> {
  const text = readFileSync(path.join(repositoryRoot, 'test/expected-skips.txt'), 'utf8');
  return new Set(
    text
      .split('\n')
      .map((line) => line.trim())
      .filter((line) => line !== '' && !line.startsWith('#')),
  );
}

process.exitCode = await main(process.argv.slice(2));
