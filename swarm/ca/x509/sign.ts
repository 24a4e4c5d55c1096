import { sign, type KeyObject } from 'node:crypto';
import { invalidArgument } from '../../../daemon/base/errors.ts';
import { bitString, element, oid, sequence, TAG } from './der-write.ts';

/** A way to sign with OpenSSL, and its name in certificates. */
interface Algorithm {
  digest: 'sha256' | 'sha384' | 'sha512';
  identifier: Buffer;
}

const ECDSA: Readonly<Record<string, Algorithm>> = {
  prime256v1: { digest: 'sha256', identifier: sequence(oid('1.2.840.10045.4.3.2')) },
  secp384r1: { digest: 'sha384', identifier: sequence(oid('1.2.840.10045.4.3.3')) },
  secp521r1: { digest: 'sha512', identifier: sequence(oid('1.2.840.10045.4.3.4')) },
};

const RSA: Algorithm = {
  digest: 'sha256',
  identifier: sequence(oid('1.2.840.113549.1.1.11'), element(TAG.null, Buffer.alloc(0))),
};
const RSA_BITS_MIN = 2048;

/**
 * A certificate or a request: what `body` makes of the name of the algorithm, that name, and the signature of the two.
 * Throws invalid_argument for keys that are too weak or of another kind.
 */
export function signed(key: KeyObject, body: (algorithm: Buffer) => Buffer): Buffer {
  const { digest, identifier } = algorithmOf(key);
  const content = body(identifier);
  return sequence(content, identifier, bitString(sign(digest, content, key)));
}

function algorithmOf({ asymmetricKeyType, asymmetricKeyDetails: details }: KeyObject): Algorithm {
  const ecdsa = asymmetricKeyType === 'ec' ? ECDSA[details?.namedCurve ?? ''] : undefined;
  if (ecdsa !== undefined) {
    return ecdsa;
  }
  if (asymmetricKeyType !== 'rsa') {
    throw invalidArgument('unsupported ECDSA key parameters');
  }
  if ((details?.modulusLength ?? 0) < RSA_BITS_MIN) {
    throw invalidArgument('unsupported RSA key parameters');
  }
  return RSA;
}
