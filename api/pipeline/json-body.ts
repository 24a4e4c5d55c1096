import { errorText, invalidArgument } from '../../daemon/base/errors.ts';

/**
 * Parses a request body. Nesting is bounded on the bytes, before anything is built from them. Throws invalid_argument
 * in dockerd's words ("invalid JSON: ...").
 */
export function parseJson(bytes: Buffer, depthMax: number): unknown {
  if (isDeeperThan(bytes, depthMax)) {
    throw invalidArgument(`invalid JSON: nested deeper than ${depthMax} levels`);
  }
  const text = bytes.toString('utf8');
  if (text.trim() === '') {
    throw invalidArgument('invalid JSON: got EOF while reading request body');
  }
  try {
    return JSON.parse(text);
  } catch (error) {
    throw invalidArgument(`invalid JSON: ${jsonProblem(error)}`);
  }
}

/**
 * What JSON.parse says is wrong, without the piece of the text that it quotes: there may be a password in it. For the
 * same reason it is no cause of another error, which would be logged whole.
 */
export function jsonProblem(error: unknown): string {
  return errorText(error).replace(/,? (?:\.\.\.)?".*$/s, '');
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN = new Set([0x5b /* [ */, 0x7b /* { */]);
const CLOSE = new Set([0x5d /* ] */, 0x7d /* } */]);

function isDeeperThan(bytes: Buffer, depthMax: number): boolean {
  let depth = 0;
  let isString = false;
  for (let index = 0; index < bytes.length; index += 1) {
    const byte = bytes[index] ?? 0;
    if (isString) {
      if (byte === BACKSLASH) {
        index += 1;
      } else if (byte === QUOTE) {
        isString = false;
      }
    } else if (byte === QUOTE) {
      isString = true;
    } else if (OPEN.has(byte)) {
      depth += 1;
      if (depth > depthMax) {
        return true;
      }
    } else if (CLOSE.has(byte)) {
      depth -= 1;
    }
  }
  return false;
}
