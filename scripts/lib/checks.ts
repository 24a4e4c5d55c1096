import { existsSync } from 'node:fs';
import path from 'node:path';
import { repositoryRoot } from './sources.ts';
import type { Step } from './steps.ts';

/** Everything `npm run check` looks at but the tests; slowest first, so that two lanes end together. */
export function staticChecks(): Step[] {
  const checks: Step[] = [
    { name: 'lint', argv: ['oxlint', '--type-aware', '.'] },
    { name: 'types', argv: ['tsc', '--noEmit'] },
    { name: 'dead code', argv: ['knip', '--no-progress'] },
    { name: 'tidy', argv: ['tsx', 'scripts/tidy.ts'] },
    { name: 'layers', argv: ['tsx', 'scripts/check-layers.ts'] },
    { name: 'lock file', argv: ['tsx', 'scripts/lock-platforms.ts', '--check'] },
    { name: 'format', argv: ['oxfmt', '--check', '.'] },
  ];
  if (existsSync(path.join(repositoryRoot, 'scripts/coverage-api.ts'))) {
    checks.push({ name: 'API.md is fresh', argv: ['tsx', 'scripts/coverage-api.ts', '--check'] });
  }
  return checks;
}

export const unitTests: Step = {
  name: 'unit, api tests',
  argv: ['vitest', 'run', '--project', 'unit', '--project', 'api'],
};
