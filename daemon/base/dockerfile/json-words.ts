import { invalidArgument } from '../errors.ts';

/** Told without the place of its instruction by both builders. */
export const NOT_ONLY_STRINGS = 'when using JSON array syntax, arrays must be comprised of strings only';

/**
 * The strings of a JSON array; undefined where the text is none, and means itself. Throws invalid_argument for an array
 * of anything else. Pure.
 */
export function jsonWords(text: string): string[] | undefined {
  if (!text.trimStart().startsWith('[')) {
    return undefined;
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // The shell form, where `[` is a command.
    return undefined;
  }
  if (!Array.isArray(value)) {
    return undefined;
  }
  if (!value.every((item) => typeof item === 'string')) {
    throw invalidArgument(NOT_ONLY_STRINGS);
  }
  return value;
}
