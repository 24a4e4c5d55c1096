import { closest } from '../../base/dockerfile/closest.ts';
import type { Dialect } from '../../base/dockerfile/dialect.ts';
import { invalidArgument } from '../../base/errors.ts';

/** Dockerfiles of BuildKit's clients, as docker/dockerfile 1 reads them. */
export const BUILDKIT: Dialect = {
  directives: ['escape', 'syntax', 'check'],
  flags: {
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
    RUN: { mount: 'list', network: 'value', security: 'value' },
    HEALTHCHECK: {
      interval: 'value',
      timeout: 'value',
      'start-period': 'value',
      'start-interval': 'value',
      retries: 'value',
    },
  },
  hasEmptyFlags: false,
  hasHeredocs: true,
  continuesAtTwo: false,
  error: (line, problem) =>
    line === 0
      ? invalidArgument(problem)
      : invalidArgument(`dockerfile parse error on line ${line}: ${problem}`, { details: { line } }),
  words: {
    unknownInstruction: (word, names) => {
      const meant = closest(word.toUpperCase(), names);
      return `unknown instruction: ${word}${meant === undefined ? '' : ` (did you mean ${meant}?)`}`;
    },
    unknownFlag: (flag, instruction) =>
      instruction === 'RUN' && flag === 'device'
        ? 'RUN --device is not supported by this engine'
        : `unknown flag: --${flag}`,
    duplicateFlag: (flag) => `duplicate flag specified: ${flag}`,
  },
};
