import { createCipheriv, createDecipheriv, randomBytes, randomInt } from 'node:crypto';
import { EngineError, invariant } from '../../daemon/base/errors.ts';

/**
 * Values that cannot be read from the disk alone: secrets, config data, the CA's key, tokens, credentials of
 * registries. etcd writes values as they come, so these are sealed before (AES-256-GCM).
 *
 * Layout: format (1 byte, 1), id of the data key (4 bytes, big endian), nonce (12), ciphertext, tag (16). Format, key
 * id and the name of the store's key are authenticated: a value that was moved to another name does not open.
 */
export interface DataKey {
  /** From 1 up to 2^32 - 1, never used twice in a cluster. */
  id: number;
  /** 32 bytes. */
  secret: Buffer;
}

const FORMAT = 1;
const HEADER_BYTES = 5;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const SECRET_BYTES = 32;
const ID_MAX = 0xffff_ffff;
/** Two managers that make a key at the same time must not give two keys one id. */
const ID_STEP_MAX = 0x1_0000;

/** The data keys of a cluster; the newest one seals, all open. Immutable. */
export class Keyring {
  readonly #keys: ReadonlyMap<number, Buffer>;
  readonly #current: number;

  constructor(keys: readonly DataKey[]) {
    invariant(keys.length > 0, 'a keyring has a key');
    for (const { id, secret } of keys) {
      invariant(Number.isInteger(id) && id > 0 && id <= ID_MAX, 'the id of a data key fits into its place');
      invariant(secret.length === SECRET_BYTES, 'a data key has 32 bytes');
    }
    this.#keys = new Map(keys.map(({ id, secret }) => [id, secret]));
    this.#current = Math.max(...this.#keys.keys());
  }

  static generate(): Keyring {
    return new Keyring([{ id: 1, secret: randomBytes(SECRET_BYTES) }]);
  }

  /** To be stored, itself wrapped. */
  get keys(): readonly DataKey[] {
    return [...this.#keys].map(([id, secret]) => ({ id, secret }));
  }

  /** The id of the key that seals. */
  get newest(): number {
    return this.#current;
  }

  get oldest(): number {
    return Math.min(...this.#keys.keys());
  }

  has(id: number): boolean {
    return this.#keys.has(id);
  }

  /** With more keys, of which the newest seals from now on. Of two with one id the own one counts. */
  with(more: readonly DataKey[]): Keyring {
    const others = more.filter(({ id }) => !this.has(id));
    return others.length === 0 ? this : new Keyring([...others, ...this.keys]);
  }

  /** Without those older than `id`: whatever was not resealed is lost. One key stays in any case. */
  from(id: number): Keyring {
    const kept = this.keys.filter((key) => key.id >= id);
    return kept.length === 0 ? this : new Keyring(kept);
  }

  seal(name: string, value: Buffer): Buffer {
    const header = Buffer.alloc(HEADER_BYTES);
    header.writeUInt8(FORMAT, 0);
    header.writeUInt32BE(this.#current, 1);
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv('aes-256-gcm', this.#secret(name, this.#current), nonce);
    cipher.setAAD(authenticated(header, name));
    const sealed = Buffer.concat([cipher.update(value), cipher.final()]);
    return Buffer.concat([header, nonce, sealed, cipher.getAuthTag()]);
  }

  /** Throws `failed_precondition` for a key that this manager lacks, `internal` for what was changed or moved. */
  open(name: string, sealed: Buffer): Buffer {
    const id = sealedBy(name, sealed);
    const nonce = sealed.subarray(HEADER_BYTES, HEADER_BYTES + NONCE_BYTES);
    const tagAt = sealed.length - TAG_BYTES;
    const cipher = createDecipheriv('aes-256-gcm', this.#secret(name, id), nonce, {
      authTagLength: TAG_BYTES,
    });
    cipher.setAAD(authenticated(sealed.subarray(0, HEADER_BYTES), name));
    cipher.setAuthTag(sealed.subarray(tagAt));
    try {
      return Buffer.concat([
        cipher.update(sealed.subarray(HEADER_BYTES + NONCE_BYTES, tagAt)),
        cipher.final(),
      ]);
    } catch (error) {
      throw new EngineError('internal', `open ${name}: it was changed, or sealed for another name`, {
        cause: error,
      });
    }
  }

  /** The value sealed with the newest key; undefined where it is already. */
  resealed(name: string, sealed: Buffer): Buffer | undefined {
    return sealedBy(name, sealed) === this.#current ? undefined : this.seal(name, this.open(name, sealed));
  }

  #secret(name: string, id: number): Buffer {
    const secret = this.#keys.get(id);
    if (secret === undefined) {
      throw new EngineError('failed_precondition', `open ${name}: this manager does not have data key ${id}`);
    }
    return secret;
  }
}

/** A new data key, newer than the one of id `above`. */
export function newDataKey(above: number): DataKey {
  return { id: above + 1 + randomInt(ID_STEP_MAX), secret: randomBytes(SECRET_BYTES) };
}

/** The id of the data key that a value is sealed with. Throws `internal` for what is not sealed. */
export function sealedBy(name: string, sealed: Buffer): number {
  if (sealed.length < HEADER_BYTES + NONCE_BYTES + TAG_BYTES || sealed[0] !== FORMAT) {
    throw new EngineError('internal', `open ${name}: it is not sealed`);
  }
  return sealed.readUInt32BE(1);
}

function authenticated(header: Buffer, name: string): Buffer {
  return Buffer.concat([header, Buffer.from(name)]);
}
