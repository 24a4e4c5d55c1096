import { createPublicKey, generateKeyPairSync, verify, type KeyObject } from 'node:crypto';
import { errorText, invalidArgument } from '../../../daemon/base/errors.ts';
import { limits } from '../../../daemon/base/limits.ts';
import { contentOf, membersOf, readOne } from './der-read.ts';
import { context, integer, sequence, TAG } from './der-write.ts';
import type { Signer } from './signer.ts';
import { readPem, writePem } from './pem.ts';
import { signed } from './sign.ts';

const LABEL = 'CERTIFICATE REQUEST';

/** A fresh key of a node, which never leaves it, and the request (PKCS #10) for a certificate of it. */
export function createRequest(): { requestPem: string; keyPem: string } {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
  const spki = publicKey.export({ type: 'spki', format: 'der' });
  return {
    requestPem: requestOf(privateKey, sequence(), spki),
    keyPem: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  };
}

/** A request of a root, to be certified by another authority under its own name and key. */
export function createAuthorityRequest({ certificate, key }: Signer): string {
  return requestOf(key, certificate.rawSubject, certificate.publicKey);
}

function requestOf(key: KeyObject, subject: Buffer, publicKey: Buffer): string {
  const body = sequence(integer(0n), subject, publicKey, context(0, Buffer.alloc(0), 'constructed'));
  return writePem(
    LABEL,
    signed(key, () => body),
  );
}

/**
 * The public key (DER of SubjectPublicKeyInfo) that a request is for. Throws invalid_argument for what is no request,
 * for keys that are not on P-256, and where the request is not signed by that key's owner.
 */
export function readRequest(pem: string): Buffer {
  if (pem.length > limits.swarmRequestBytesMax) {
    throw invalidArgument(
      `certificate request of ${pem.length} bytes: at most ${limits.swarmRequestBytesMax}`,
    );
  }
  const block = readPem(pem).find(({ label }) => label === LABEL);
  if (block === undefined) {
    throw invalidArgument('no certificate request found');
  }
  const [body, , signature] = membersOf(readOne(block.bytes), TAG.sequence);
  const [, , publicKey] = membersOf(body, TAG.sequence);
  if (body === undefined || publicKey === undefined) {
    throw invalidArgument('certificate request: a part of it is missing');
  }
  const bits = contentOf(signature, TAG.bitString);
  if (!isSignedBy(publicKey.raw, body.raw, bits.subarray(1))) {
    throw invalidArgument('certificate request: it is not signed by its own key');
  }
  return Buffer.from(publicKey.raw);
}

function isSignedBy(spki: Buffer, content: Buffer, signature: Buffer): boolean {
  try {
    const key = createPublicKey({ key: spki, format: 'der', type: 'spki' });
    if (key.asymmetricKeyDetails?.namedCurve !== 'prime256v1') {
      throw invalidArgument('its key is not on the curve P-256');
    }
    return verify('sha256', content, key, signature);
  } catch (error) {
    throw invalidArgument(`certificate request: ${errorText(error)}`, { cause: error });
  }
}
