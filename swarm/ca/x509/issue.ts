import { generateKeyPairSync, randomBytes, type KeyObject } from 'node:crypto';
import { invalidArgument } from '../../../daemon/base/errors.ts';
import { readCertificate, type Certificate } from './certificate.ts';
import { context, integer, sequence, time } from './der-write.ts';
import { authorityExtensions, keyIdOf, nodeExtensions } from './extensions.ts';
import { alternativeNames, type Identity } from '../identity.ts';
import { readRequest } from './request.ts';
import { signed } from './sign.ts';
import type { Signer } from './signer.ts';
import { encodeSubject } from './subject.ts';

const HOUR_MS = 3_600_000;
const YEAR_MS = 365.25 * 24 * HOUR_MS;
const ROOT_NAME = 'swarm-ca';
const ROOT_LIFE_MS = 20 * YEAR_MS;
/** Certificates begin a little before now: nodes whose clock is slow have to trust them too. */
const BACKDATE_MS = HOUR_MS;
const SERIAL_BYTES = 20;

/** A new root: self-signed, for twenty years. `now` in milliseconds since 1970. */
export function createRoot(now: number): Signer {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
  const spki = publicKey.export({ type: 'spki', format: 'der' });
  const name = encodeSubject({ commonName: ROOT_NAME, unit: '', organization: '' });
  const der = build(privateKey, {
    issuer: name,
    subject: name,
    publicKey: spki,
    validFrom: now - BACKDATE_MS,
    validUntil: now + ROOT_LIFE_MS,
    extensions: authorityExtensions({ own: keyIdOf(spki), issuer: keyIdOf(spki) }),
  });
  return { certificate: readCertificate(der), key: privateKey };
}

/**
 * A node's certificate. Of the request only the public key is taken: whatever else it asks for (names, an authority, a
 * life) changes nothing. `addresses` (bytes of IP addresses) are names too: the store's members look for them. Throws
 * invalid_argument for a request that is none, or not signed by its own key.
 */
export function issueNodeCertificate(
  signer: Signer,
  requestPem: string,
  identity: Identity,
  life: { now: number; expiryMs: number; addresses?: readonly Uint8Array[] },
): Certificate {
  const publicKey = readRequest(requestPem);
  const { rawSubject, keyId } = signer.certificate;
  const der = build(signer.key, {
    issuer: rawSubject,
    subject: encodeSubject({
      commonName: identity.node,
      unit: identity.role,
      organization: identity.cluster,
    }),
    publicKey,
    validFrom: life.now - BACKDATE_MS,
    validUntil: life.now + life.expiryMs,
    extensions: nodeExtensions(
      { names: alternativeNames(identity), addresses: life.addresses ?? [] },
      { own: keyIdOf(publicKey), issuer: keyId },
    ),
  });
  return readCertificate(der);
}

/**
 * The new root as the old one certifies it: nodes that trust the old root alone follow it to what the new one signed.
 * Name, key and life are the new root's own. Throws invalid_argument where `root` is no authority.
 */
export function crossSign(signer: Signer, root: Certificate): Certificate {
  if (!root.isAuthority) {
    throw invalidArgument('certificate not a CA');
  }
  const der = build(signer.key, {
    issuer: signer.certificate.rawSubject,
    subject: root.rawSubject,
    publicKey: root.publicKey,
    validFrom: root.validFrom,
    validUntil: root.validUntil,
    extensions: authorityExtensions({ own: root.keyId, issuer: signer.certificate.keyId }),
  });
  return readCertificate(der);
}

interface Template {
  issuer: Buffer;
  subject: Buffer;
  publicKey: Buffer;
  validFrom: number;
  validUntil: number;
  extensions: readonly Buffer[];
}

const VERSION_3 = 2n;

function build(key: KeyObject, template: Template): Buffer {
  return signed(key, (algorithm) =>
    sequence(
      context(0, integer(VERSION_3), 'constructed'),
      serial(),
      algorithm,
      template.issuer,
      sequence(time(template.validFrom), time(template.validUntil)),
      template.subject,
      template.publicKey,
      context(3, sequence(...template.extensions), 'constructed'),
    ),
  );
}

/** Random, positive, at most 20 bytes (RFC 5280). */
function serial(): Buffer {
  const bytes = randomBytes(SERIAL_BYTES);
  return integer(BigInt(`0x${bytes.toString('hex')}`) >> 1n);
}
