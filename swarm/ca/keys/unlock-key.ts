import { invalidArgument } from '../../../daemon/base/errors.ts';
import type { Random } from '../../objects/random.ts';

const PREFIX = 'SWMKEY-1-';
const KEY_BYTES = 32;

export function newUnlockKey(random: Random): Buffer {
  return Buffer.from(random.bytes(KEY_BYTES));
}

/** As users keep it: `SWMKEY-1-` and base64 without padding. */
export function formatUnlockKey(key: Uint8Array): string {
  return `${PREFIX}${Buffer.from(key).toString('base64').replace(/=+$/, '')}`;
}

/** Throws invalid_argument `invalid key string`. */
export function parseUnlockKey(text: string): Buffer {
  const key = Buffer.from(text.startsWith(PREFIX) ? text.slice(PREFIX.length) : '', 'base64');
  // Decoding is lenient; what does not come out as it went in was no key.
  if (key.length !== KEY_BYTES || formatUnlockKey(key) !== text) {
    throw invalidArgument('invalid key string');
  }
  return key;
}
