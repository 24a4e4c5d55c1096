/** dockerd's reasons (builder/dockerfile/metrics.go): the values of the label `reason`. */
export const BUILD_FAILURES = [
  'build_canceled',
  'build_target_not_reachable_error',
  'command_not_supported_error',
  'dockerfile_empty_error',
  'dockerfile_syntax_error',
  'error_processing_commands_error',
  'missing_onbuild_arguments_error',
  'unknown_instruction_error',
] as const;

type BuildFailure = (typeof BUILD_FAILURES)[number];

/** From the builder's own words, which are dockerd's; the first that fits. */
const RULES: readonly (readonly [RegExp, BuildFailure])[] = [
  [/canceled|connection was closed|closed the connection/, 'build_canceled'],
  [/failed to reach build target/, 'build_target_not_reachable_error'],
  [/isn't allowed as an ONBUILD trigger/, 'missing_onbuild_arguments_error'],
  [/unknown instruction/, 'unknown_instruction_error'],
  [/file with no instructions|cannot be empty|no build stage in current context/, 'dockerfile_empty_error'],
  [/dockerfile parse error/, 'dockerfile_syntax_error'],
];

/** Which of dockerd's reasons the words of a failed build mean. Pure. */
export function buildFailure(words: string): BuildFailure {
  return RULES.find(([pattern]) => pattern.test(words))?.[1] ?? 'error_processing_commands_error';
}
