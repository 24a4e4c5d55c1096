import { invalidArgument, type EngineError } from '../../daemon/base/errors.ts';

/** In the form of Go's text/template, which clients know: `template: expansion:1: unexpected "}"`. */
export function templateError(line: number | string, text: string): EngineError {
  return invalidArgument(`template: expansion:${line}: ${text}`);
}

/** An error of what stands at `at` in a template, by its line and its byte in that line: `2:3`. */
export function executionError(
  template: string,
  { at, text }: { at: number; text: string },
  why: string,
): EngineError {
  const before = template.slice(0, at).split('\n');
  const column = Buffer.byteLength(before.at(-1) ?? '');
  return templateError(`${before.length}:${column}`, `executing "expansion" at <${text}>: ${why}`);
}
