import { expect, test } from 'vitest';
import { buildFailure } from '../../../daemon/metrics/build-failures.ts';

test.each([
  ['dockerfile parse error line 2: unknown instruction: FOO', 'unknown_instruction_error'],
  ['dockerfile parse error: file with no instructions', 'dockerfile_empty_error'],
  ['dockerfile parse error line 1: FROM requires at least one argument', 'dockerfile_syntax_error'],
  ['no build stage in current context', 'dockerfile_empty_error'],
  ['failed to reach build target x in Dockerfile', 'build_target_not_reachable_error'],
  ["FROM isn't allowed as an ONBUILD trigger", 'missing_onbuild_arguments_error'],
  ['build: the client closed the connection', 'build_canceled'],
  ['canceled', 'build_canceled'],
  ["The command '/bin/sh -c false' returned a non-zero code: 1", 'error_processing_commands_error'],
])('metrics: a build that failed with %j counts as %s', (words, reason) => {
  expect(buildFailure(words)).toBe(reason);
});
