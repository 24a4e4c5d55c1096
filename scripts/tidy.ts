/**
 * `npm run tidy`: the rules of the house that no linter knows (sizes, full folders, words left behind, silenced tools,
 * catches that swallow, assertions without a reason). Exit code 1 when one is broken; warnings only print.
 */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { readSource, report, repositoryFiles, repositoryRoot } from './lib/sources.ts';
import { crowdedFolders, mergeMarks, tidy } from './lib/tidy-rules.ts';

const files = repositoryFiles('*.ts');
const prose = repositoryFiles('*.md');
const findings = [
  ...files.flatMap((file) => tidy(readSource(file))),
  ...crowdedFolders(files),
  ...prose.flatMap((file) => mergeMarks(file, readFileSync(path.join(repositoryRoot, file), 'utf8'))),
];
const errors = findings.filter((finding) => finding.severity === 'error');
const warnings = findings.filter((finding) => finding.severity === 'warning');
if (warnings.length > 0) {
  report('tidy warnings', warnings);
}
process.exitCode = report('tidy', errors) === 0 ? 0 : 1;
