import { EngineError, internal, isEngineError } from '../../../daemon/base/errors.ts';
import { Keyring } from '../../store/sealed.ts';
import { readPem, writePem } from '../x509/pem.ts';

/** What only this node has: the key of its certificate and, on managers, the keys of sealed values. */
export interface KeyFile {
  /** PEM, PKCS #8. */
  keyPem: string;
  /** Of managers alone. */
  keyring?: Keyring;
  /** Of managers alone: what they show each other's store. */
  store?: StoreIdentity;
}

/** For the connections between the members of the store, under an authority that certifies managers alone. PEM. */
export interface StoreIdentity {
  authorityPem: string;
  certPem: string;
  keyPem: string;
}

const KEY = 'PRIVATE KEY';
const KEYRING = 'BERTH KEYRING';
const STORE = 'BERTH STORE IDENTITY';
const SEALED_KEY = `SEALED ${KEY}`;
const SEALED_KEYRING = `SEALED ${KEYRING}`;
/** The unlock key seals nothing else than key files. */
const UNLOCK_KEY_NUMBER = 1;

/** The file's text. With an unlock key nothing in it can be read without that key. */
export function writeKeyFile({ keyPem, keyring, store }: KeyFile, unlockKey?: Buffer): string {
  const key = readPem(keyPem).find(({ label }) => label === KEY);
  if (key === undefined) {
    throw internal('write the key file: the key is not in PKCS #8');
  }
  const blocks: [string, Buffer][] = [[KEY, key.bytes]];
  if (keyring !== undefined) {
    blocks.push([KEYRING, encodeKeyring(keyring)]);
  }
  if (store !== undefined) {
    blocks.push([STORE, Buffer.from(JSON.stringify(store))]);
  }
  return blocks
    .map(([label, bytes]) =>
      unlockKey === undefined
        ? writePem(label, bytes)
        : writePem(`SEALED ${label}`, unlocking(unlockKey).seal(label, bytes)),
    )
    .join('');
}

export function isLocked(text: string): boolean {
  return readPem(text).some(({ label }) => label === SEALED_KEY || label === SEALED_KEYRING);
}

/**
 * Throws in dockerd's words unavailable where the file is locked and no key is given, unauthorized for a wrong key;
 * internal for what is no key file.
 */
export function readKeyFile(text: string, unlockKey?: Buffer): KeyFile {
  const find = (label: string): Buffer | undefined => {
    const blocks = readPem(text);
    const sealed = blocks.find((block) => block.label === `SEALED ${label}`);
    return sealed === undefined
      ? blocks.find((block) => block.label === label)?.bytes
      : unseal(label, sealed.bytes, unlockKey);
  };
  const key = find(KEY);
  if (key === undefined) {
    throw internal('read the key file of this node: it holds no private key');
  }
  const keyring = find(KEYRING);
  const store = find(STORE);
  return {
    keyPem: writePem(KEY, key),
    ...(keyring === undefined ? {} : { keyring: decodeKeyring(keyring) }),
    // Only `writeKeyFile` has written it.
    ...(store === undefined ? {} : { store: JSON.parse(store.toString()) as StoreIdentity }),
  };
}

function unseal(label: string, sealed: Buffer, unlockKey: Buffer | undefined): Buffer {
  if (unlockKey === undefined) {
    throw new EngineError(
      'unavailable',
      'Swarm is encrypted and needs to be unlocked before it can be used. ' +
        'Please use "docker swarm unlock" to unlock it.',
    );
  }
  try {
    return unlocking(unlockKey).open(label, sealed);
  } catch (error) {
    if (isEngineError(error)) {
      throw new EngineError('unauthorized', 'swarm could not be unlocked: invalid key provided', {
        cause: error,
      });
    }
    throw error;
  }
}

function unlocking(unlockKey: Buffer): Keyring {
  return new Keyring([{ id: UNLOCK_KEY_NUMBER, secret: unlockKey }]);
}

/** The keyring as bytes: to be sealed, or sent to a manager. */
export function encodeKeyring({ keys }: Keyring): Buffer {
  return Buffer.from(JSON.stringify(keys.map(({ id, secret }) => [id, secret.toString('base64')])));
}

export function decodeKeyring(bytes: Buffer): Keyring {
  // Sealed, private to the daemon, or from a manager: only `encodeKeyring` has written it.
  const keys = JSON.parse(bytes.toString()) as [number, string][];
  return new Keyring(keys.map(([id, secret]) => ({ id, secret: Buffer.from(secret, 'base64') })));
}
