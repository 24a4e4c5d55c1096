import type { Dialect } from '../../../base/dockerfile/dialect.ts';
import { invalidArgument } from '../../../base/errors.ts';

const BUILDKIT_FLAGS = new Set([
  'mount',
  'network',
  'security',
  'link',
  'chmod',
  'parents',
  'exclude',
  'keep-git-dir',
]);

/** Dockerfiles of Docker's classic builder, as dockerd 20.10 reads them. HEALTHCHECK reads its flags itself. */
export const CLASSIC: Dialect = {
  directives: ['escape', 'syntax'],
  flags: {
    FROM: { platform: 'value' },
    ADD: { chown: 'value' },
    COPY: { chown: 'value', from: 'value' },
    RUN: {},
  },
  hasEmptyFlags: true,
  mayBeEmpty: [],
  hasHeredocs: false,
  continuesAtTwo: true,
  error: (line, problem) =>
    invalidArgument(`dockerfile parse error${line === 0 ? '' : ` line ${line}`}: ${problem}`, {
      details: { line: line || undefined },
    }),
  words: {
    unknownInstruction: (word) => `unknown instruction: ${word.toUpperCase()}`,
    unknownFlag: (flag) => `Unknown flag: ${flag}${BUILDKIT_FLAGS.has(flag) ? ' (not supported yet)' : ''}`,
    duplicateFlag: (flag) => `Duplicate flag specified: ${flag}`,
  },
};
