import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { EngineError } from '../../../daemon/base/errors.ts';

/**
 * Values that are secret before they are written: AES-256-GCM, bound to the name under which they are kept, so that two
 * of them cannot be exchanged. Layout: version (1 byte), number of the key (4), nonce (12), ciphertext, tag (16).
 */
const VERSION = 1;
const HEADER_BYTES = 5;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** Data keys by number. New values are sealed with `primary`; older ones are opened with theirs. */
export interface Keyring {
  primary: number;
  keys: ReadonlyMap<number, Buffer>;
}

export function seal(keyring: Keyring, name: string, plain: Uint8Array): Buffer {
  const header = Buffer.alloc(HEADER_BYTES);
  header.writeUInt8(VERSION);
  header.writeUInt32BE(keyring.primary, 1);
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv('aes-256-gcm', keyOf(keyring, keyring.primary), nonce);
  cipher.setAAD(boundTo(header, name));
  return Buffer.concat([header, nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
}

/** Throws unauthorized for another key, another name, or bytes that were changed. */
export function open(keyring: Keyring, name: string, sealed: Uint8Array): Buffer {
  const bytes = Buffer.from(sealed.buffer, sealed.byteOffset, sealed.byteLength);
  if (bytes.length < HEADER_BYTES + NONCE_BYTES + TAG_BYTES || bytes[0] !== VERSION) {
    throw notOpened(name);
  }
  const header = bytes.subarray(0, HEADER_BYTES);
  const nonce = bytes.subarray(HEADER_BYTES, HEADER_BYTES + NONCE_BYTES);
  const decipher = createDecipheriv('aes-256-gcm', keyOf(keyring, header.readUInt32BE(1)), nonce);
  decipher.setAAD(boundTo(header, name));
  decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
  try {
    return Buffer.concat([
      decipher.update(bytes.subarray(HEADER_BYTES + NONCE_BYTES, -TAG_BYTES)),
      decipher.final(),
    ]);
  } catch (error) {
    throw notOpened(name, error);
  }
}

/** Whether a value is still sealed with a key that is to be retired. */
export function isSealedWith(sealed: Uint8Array, key: number): boolean {
  return sealed.length >= HEADER_BYTES && Buffer.from(sealed).readUInt32BE(1) === key;
}

function boundTo(header: Buffer, name: string): Buffer {
  return Buffer.concat([header, Buffer.from(name)]);
}

function keyOf({ keys }: Keyring, number: number): Buffer {
  const key = keys.get(number);
  if (key === undefined) {
    throw new EngineError('unauthorized', `no key ${number} to open a sealed value`);
  }
  return key;
}

function notOpened(name: string, cause?: unknown): EngineError {
  return new EngineError('unauthorized', `the sealed value of ${name} cannot be opened`, { cause });
}
