import { invalidArgument } from '../../base/errors.ts';
import type { EngineError } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';

/** Enough of a value to recognise it; the rest would only fill logs and terminals. */
const SHOWN_LENGTH_MAX = 200;

/** A field that this engine does not put in force: refusing it is better than pretending. */
export function notSupportedYet(field: string, value: unknown): EngineError {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return invalidArgument(`${field} is not supported yet: ${abridged(text)}`, {
    details: { field },
  });
}

/** Enough of a value to recognise it. */
export function abridged(text: string): string {
  return text.length > SHOWN_LENGTH_MAX ? `${text.slice(0, SHOWN_LENGTH_MAX)}...` : text;
}

/** Why no call to the kernel could name this path, undefined when it could. */
export function problemOfLength(path: string): string | undefined {
  const bytes = Buffer.byteLength(path);
  return bytes > limits.pathBytesMax
    ? `path of ${bytes} bytes is longer than ${limits.pathBytesMax}: '${abridged(path)}'`
    : undefined;
}

/** Throws unless `value` is empty in the way clients send "nothing": absent, null, false, 0, "", [], {}. */
export function refuseUnlessEmpty(field: string, value: unknown): void {
  if (!isEmpty(value)) {
    throw notSupportedYet(field, value);
  }
}

/** Nothing, in the way clients send it: absent, null, false, 0, "", [], {}. */
export function isEmpty(value: unknown): boolean {
  if (typeof value === 'object' && value !== null) {
    return Object.keys(value).length === 0;
  }
  return value === undefined || value === null || value === false || value === 0 || value === '';
}

/** `value` or 0. Throws for numbers that JavaScript, and so this engine, cannot hold exactly. */
export function wholeNumber(field: string, value: number | null | undefined): number {
  if (value === undefined || value === null) {
    return 0;
  }
  if (!Number.isSafeInteger(value)) {
    throw invalidArgument(`${field} must be a whole number between -2^53 and 2^53: ${value}`);
  }
  return value;
}

/** Throws when any string below `value` holds a NUL: no argument, path or variable of Linux can. */
export function refuseNul(value: unknown, where = ''): void {
  if (typeof value === 'string') {
    if (value.includes('\0')) {
      throw invalidArgument(`${where} cannot hold a NUL character`);
    }
    return;
  }
  if (typeof value === 'object' && value !== null) {
    for (const [key, child] of Object.entries(value)) {
      refuseNul(key, where || 'request');
      refuseNul(child, where === '' ? key : `${where}.${key}`);
    }
  }
}
