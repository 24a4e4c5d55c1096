import { invalidArgument } from '../errors.ts';

/** ctrl-p ctrl-q, as docker has it. */
const DEFAULT_KEYS: readonly number[] = [0x10, 0x11];

/**
 * Reads `detachKeys`: a comma list of single characters and `ctrl-<x>`, x one of a-z @ [ \ ] ^ _.
 * Undefined or empty = the default. Throws invalid_argument.
 */
export function parseDetachKeys(text: string | undefined): readonly number[] {
  if (text === undefined || text === '') {
    return DEFAULT_KEYS;
  }
  return text.split(',').map((key) => {
    if (key.length === 1) {
      return key.charCodeAt(0);
    }
    const control = /^ctrl-([a-z@[\\\]^_])$/.exec(key)?.[1];
    if (control === undefined) {
      throw invalidArgument(`Invalid detach keys (${text}) provided`, { details: { key } });
    }
    // A terminal sends ctrl-x as the character's low five bits.
    return control.charCodeAt(0) & 0x1f;
  });
}

/** What of the input goes on to the container, and whether the sequence was completed. */
export interface DetachScan {
  forward: Buffer;
  detached: boolean;
}

/**
 * Watches terminal input for the detach sequence. Keys that may begin it are held back until it is decided; what
 * follows a completed sequence is dropped.
 */
export class DetachScanner {
  readonly #keys: readonly number[];
  #matched = 0;

  constructor(keys: readonly number[]) {
    this.#keys = keys;
  }

  scan(input: Buffer): DetachScan {
    // The common case, nothing pending and the first key absent, copies nothing.
    if (this.#matched === 0 && (this.#keys.length === 0 || !input.includes(this.#keys[0] ?? 0))) {
      return { forward: input, detached: false };
    }
    const forward: number[] = [];
    for (const byte of input) {
      if (byte !== this.#keys[this.#matched] && this.#matched > 0) {
        forward.push(...this.#keys.slice(0, this.#matched));
        this.#matched = 0;
      }
      if (byte === this.#keys[this.#matched]) {
        this.#matched += 1;
        if (this.#matched === this.#keys.length) {
          return { forward: Buffer.from(forward), detached: true };
        }
      } else {
        forward.push(byte);
      }
    }
    return { forward: Buffer.from(forward), detached: false };
  }
}
