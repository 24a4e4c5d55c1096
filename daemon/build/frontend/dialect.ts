import { closest } from '../../base/dockerfile/closest.ts';
import type { Dialect } from '../../base/dockerfile/dialect.ts';
import { invalidArgument } from '../../base/errors.ts';

const FLAGS: Dialect['flags'] = {
  FROM: { platform: 'value' },
  ADD: {
    chown: 'value',
    chmod: 'value',
    link: 'boolean',
    'keep-git-dir': 'boolean',
    checksum: 'value',
    exclude: 'list',
    unpack: 'boolean',
  },
  COPY: {
    from: 'value',
    chown: 'value',
    chmod: 'value',
    link: 'boolean',
    parents: 'boolean',
    exclude: 'list',
  },
  RUN: { device: 'list', mount: 'list', network: 'value', security: 'value' },
  HEALTHCHECK: {
    interval: 'value',
    timeout: 'value',
    'start-period': 'value',
    'start-interval': 'value',
    retries: 'value',
  },
};

/** Dockerfiles of BuildKit's clients, as docker/dockerfile 1 reads them. */
export const BUILDKIT: Dialect = {
  directives: ['escape', 'syntax', 'check'],
  flags: FLAGS,
  hasEmptyFlags: false,
  mayBeEmpty: ['CMD', 'ENTRYPOINT', 'RUN'],
  hasHeredocs: true,
  continuesAtTwo: false,
  error: (line, problem) =>
    line === 0
      ? invalidArgument(problem)
      : invalidArgument(`dockerfile parse error on line ${line}: ${problem}`, { details: { line } }),
  words: {
    unknownInstruction: (word, names) => {
      return `unknown instruction: ${word}${hint(word.toUpperCase(), names)}`;
    },
    unknownFlag: (flag, instruction) =>
      `unknown flag: --${flag}${hint(flag, Object.keys(FLAGS[instruction] ?? {}))}`,
    duplicateFlag: (flag) => `duplicate flag specified: ${flag}`,
  },
};

function hint(word: string, known: readonly string[]): string {
  const meant = closest(word, known);
  return meant === undefined ? '' : ` (did you mean ${meant}?)`;
}
