/**
 * `npm run layers`: every import against the layer table of ARCHITECTURE.md, and no files that import each other in a
 * circle. Exit code 1 when a rule is broken.
 */
import { checkCircles } from './lib/circles.ts';
import { checkLayers } from './lib/layers.ts';
import { readSource, report, repositoryFiles } from './lib/sources.ts';

const sources = repositoryFiles('*.ts').map(readSource);
const circles = checkCircles(sources.filter(({ file }) => !file.startsWith('test/')));
process.exitCode = report('layers', [...sources.flatMap(checkLayers), ...circles]) === 0 ? 0 : 1;
