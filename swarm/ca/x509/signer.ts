import { createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto';
import { errorText, invalidArgument } from '../../../daemon/base/errors.ts';
import type { Certificate } from './certificate.ts';

/** A certificate and the key for it, with which others are signed. */
export interface Signer {
  certificate: Certificate;
  key: KeyObject;
}

/** A root's certificate with its key. Throws invalid_argument where they do not belong together. */
export function signerOf(certificate: Certificate, keyPem: string): Signer {
  let key: KeyObject;
  try {
    key = createPrivateKey(keyPem);
  } catch (error) {
    throw invalidArgument(`read the signing CA key: ${errorText(error)}`, { cause: error });
  }
  const publicKey = createPublicKey(key).export({ type: 'spki', format: 'der' });
  if (!publicKey.equals(certificate.publicKey)) {
    throw invalidArgument('certificate key mismatch');
  }
  return { certificate, key };
}
