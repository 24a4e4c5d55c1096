import { posix } from 'node:path';
import { ignoreTest } from '../../../base/dockerfile/ignore.ts';
import type { Lines } from '../../../base/dockerfile/instruction.ts';
import type { Linter } from './linter.ts';
import { RULES } from './rules.ts';

/** A source that the `.dockerignore` leaves out. With exceptions in it nobody knows before the files are there. */
export function warnOfIgnored(
  {
    build,
    step,
    linter,
  }: {
    build: { options: { ignorePatterns: readonly string[] } };
    step: { lines: Lines };
    linter: Linter;
  },
  kind: 'copy' | 'add',
  source: string,
): void {
  const { ignorePatterns } = build.options;
  if (ignorePatterns.length === 0 || ignorePatterns.some((pattern) => pattern.startsWith('!'))) {
    return;
  }
  const path = posix.normalize(source).replace(/(?<=.)\/$/, '');
  const isRoot = path === '.' || path === '/';
  const isIgnored = isRoot
    ? ignorePatterns.some((pattern) => ['*', '**', '**/*'].includes(pattern))
    : ignoreTest(ignorePatterns.join('\n'))(path.replace(/^\/+/, ''));
  if (isIgnored) {
    const said = JSON.stringify(path);
    const word = kind === 'copy' ? 'Copy' : 'Add';
    const detail = `Attempting to ${word} file ${said} that is excluded by .dockerignore`;
    linter.warn(RULES.copyIgnoredFile, step.lines, detail);
  }
}
