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
const COMMA = 0x2c;
const OPEN = new Set([0x5b /* [ */, 0x7b /* { */]);
const CLOSE = new Set([0x5d /* ] */, 0x7d /* } */]);

/** Whether there are more than `max` commas between values: a small text may be a large tree. Pure. */
export function hasMoreValues(bytes: Buffer, max: number): boolean {
  let count = 0;
  return someByte(bytes, (byte) => {
    count += byte === COMMA ? 1 : 0;
    return count > max;
  });
}

function isDeeperThan(bytes: Buffer, depthMax: number): boolean {
  let depth = 0;
  return someByte(bytes, (byte) => {
    depth += OPEN.has(byte) ? 1 : CLOSE.has(byte) ? -1 : 0;
    return depth > depthMax;
  });
}

/** Of the bytes outside of texts. */
function someByte(bytes: Buffer, isFound: (byte: number) => boolean): boolean {
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
    } else if (isFound(byte)) {
      return true;
    }
  }
  return false;
}
