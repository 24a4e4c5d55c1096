import { EngineError, isEngineError } from '../../base/errors.ts';
import type { Lines } from '../../base/dockerfile/instruction.ts';

/** Runs a step; its error names the lines (`details.line`, `details.endLine`) where it does not yet. */
export function located<T>(lines: Lines, step: () => T): T {
  try {
    return step();
  } catch (error) {
    throw at(lines, error);
  }
}

/** The same of a step that waits. */
export async function locatedAsync<T>(lines: Lines, step: () => Promise<T>): Promise<T> {
  try {
    return await step();
  } catch (error) {
    throw at(lines, error);
  }
}

function at({ from, to }: Lines, error: unknown): unknown {
  if (!isEngineError(error) || error.details['line'] !== undefined) {
    return error;
  }
  const details = { ...error.details, line: from, endLine: to };
  return new EngineError(error.code, error.message, { cause: error, details });
}
