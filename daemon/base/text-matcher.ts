import { RE2JS } from 're2js';
import { limits } from './limits.ts';

/**
 * dockerd's rule for filters of names and ids: equal, or a match of the value as a regular expression, anywhere. The
 * expressions are Go's (RE2), which take linear time; those of JavaScript could keep the daemon for hours. What is no
 * expression, or longer than any sensible one, can only be equal.
 */
export function textMatcher(value: string): (text: string) => boolean {
  const expression = value.length > limits.filterPatternLengthMax ? undefined : compile(value);
  return (text) => text === value || (expression?.matcher(text).find() ?? false);
}

function compile(value: string): RE2JS | undefined {
  try {
    return RE2JS.compile(value);
  } catch {
    // Not an expression: it can only be equal.
    return undefined;
  }
}
