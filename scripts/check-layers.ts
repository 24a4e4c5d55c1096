/** `npm run layers`: every import against the layer table of ARCHITECTURE.md. Exit code 1 when one breaks it. */
import { checkLayers } from './lib/layers.ts';
import { readSource, report, repositoryFiles } from './lib/sources.ts';

const findings = repositoryFiles('*.ts').flatMap((file) => checkLayers(readSource(file)));
process.exitCode = report('layers', findings) === 0 ? 0 : 1;
