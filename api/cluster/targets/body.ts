import type { IncomingMessage } from 'node:http';
import { errorText, invalidArgument } from '../../../daemon/base/errors.ts';
import { limits } from '../../../daemon/base/limits.ts';
import { readBytes } from '../../pipeline/body.ts';
import { parseJson } from '../../pipeline/json-body.ts';

/** A body is read once: first for its signature, then for what it says. */
const bodies = new WeakMap<IncomingMessage, Promise<Buffer>>();

/** The bytes of a request's body, empty where it has none. Throws UnreadBodyError past the bounds of bodies. */
export function bodyOf(req: IncomingMessage): Promise<Buffer> {
  const known = bodies.get(req);
  if (known !== undefined) {
    return known;
  }
  const read = readBytes(req);
  bodies.set(req, read);
  return read;
}

/** Undefined for no body. Throws invalid_argument, reason cannotParse, for what is no JSON. */
export function jsonOf(bytes: Buffer): unknown {
  if (bytes.length === 0) {
    return undefined;
  }
  try {
    return parseJson(bytes, limits.requestJsonDepthMax);
  } catch (error) {
    throw invalidArgument(errorText(error), { cause: error, details: { reason: 'cannotParse' } });
  }
}
