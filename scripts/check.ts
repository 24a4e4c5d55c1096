/**
 * `npm run check`: the gate before a commit, under a minute, no root. Prints one line per check, and the whole output
 * of those that failed.
 */
import { staticChecks, unitTests } from './lib/checks.ts';
import { runSteps } from './lib/steps.ts';

const results = await runSteps([unitTests, ...staticChecks()], 2, (result) => {
  console.log(`${result.ok ? 'ok  ' : 'FAIL'}  ${result.name.padEnd(16)} ${result.seconds.toFixed(1)} s`);
});
const failed = results.filter((result) => !result.ok);
for (const { name, output } of failed) {
  console.log(`\n===== ${name} =====\n${output.trim()}`);
}
process.exitCode = failed.length === 0 ? 0 : 1;
