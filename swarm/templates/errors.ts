import { invalidArgument, type EngineError } from '../../daemon/base/errors.ts';

/** In the form of Go's text/template, which clients know: `template: expansion:1: unexpected "}"`. */
export function templateError(line: number, text: string): EngineError {
  return invalidArgument(`template: expansion:${line}: ${text}`);
}
