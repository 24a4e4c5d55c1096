import { X509Certificate } from 'node:crypto';
import { errorText, invalidArgument } from '../../../daemon/base/errors.ts';
import { contentOf, membersOf, oidOf, readOne, timeOf, type Element } from './der-read.ts';
import { TAG } from './der-write.ts';
import { EXTENSION, keyIdOf } from './extensions.ts';
import { readPem, writePem } from './pem.ts';
import { decodeSubject, type Subject } from './subject.ts';

/** A certificate, read: what swarms decide on, and the bytes that they compare. */
export interface Certificate {
  pem: string;
  raw: Buffer;
  subject: Subject;
  /** DER of the names, as the API shows the issuer's. */
  rawSubject: Buffer;
  rawIssuer: Buffer;
  /** DER of the SubjectPublicKeyInfo. */
  publicKey: Buffer;
  /** What certificates under this one name its key, by itself or, where it says nothing, by the usual digest. */
  keyId: Buffer;
  /** Milliseconds since 1970. */
  validFrom: number;
  validUntil: number;
  /** May sign other certificates: the basic constraint and, where usages are named, that usage. */
  isAuthority: boolean;
  /** By SHA-2: other signatures count for nothing. */
  isStronglySigned: boolean;
  /** OpenSSL's view of the same bytes, for signatures. */
  openssl: X509Certificate;
}

/** Throws invalid_argument for what is no certificate. */
export function readCertificate(der: Uint8Array): Certificate {
  let openssl: X509Certificate;
  try {
    openssl = new X509Certificate(der);
  } catch (error) {
    throw invalidArgument(`read a certificate: ${errorText(error)}`, { cause: error });
  }
  const [signed] = membersOf(readOne(der), TAG.sequence);
  const fields = membersOf(signed, TAG.sequence);
  if (fields[0]?.tag !== VERSION) {
    throw invalidArgument('read a certificate: it is older than version 3');
  }
  const [, , algorithm, issuer, validity, subject, publicKey, ...optional] = fields;
  const [from, until] = membersOf(validity, TAG.sequence);
  if (subject === undefined || issuer === undefined || publicKey === undefined) {
    throw invalidArgument('read a certificate: a part of it is missing');
  }
  const extensions = extensionsOf(optional);
  return {
    pem: writePem('CERTIFICATE', der),
    raw: Buffer.from(der),
    subject: decodeSubject(subject),
    rawSubject: subject.raw,
    rawIssuer: issuer.raw,
    publicKey: publicKey.raw,
    keyId: namedKeyId(extensions) ?? keyIdOf(publicKey.raw),
    validFrom: timeOf(from),
    validUntil: timeOf(until),
    isAuthority: openssl.ca && maySign(extensions),
    isStronglySigned: STRONG_SIGNATURES.has(oidOf(membersOf(algorithm, TAG.sequence)[0])),
    openssl,
  };
}

/** All certificates of a text, in their order. */
export function readCertificates(pem: string): Certificate[] {
  return readPem(pem)
    .filter(({ label }) => label === 'CERTIFICATE')
    .map(({ bytes }) => readCertificate(bytes));
}

/** ECDSA and RSA with SHA-256, SHA-384 and SHA-512. */
const STRONG_SIGNATURES = new Set([
  '1.2.840.10045.4.3.2',
  '1.2.840.10045.4.3.3',
  '1.2.840.10045.4.3.4',
  '1.2.840.113549.1.1.11',
  '1.2.840.113549.1.1.12',
  '1.2.840.113549.1.1.13',
]);

const VERSION = 0xa0;
const EXTENSIONS = 0xa3;
const KEY_CERT_SIGN = 0x04;

/** Extensions of a certificate by identifier, with their value's DER. */
function extensionsOf(optional: readonly Element[]): Map<string, Buffer> {
  const tagged = optional.find(({ tag }) => tag === EXTENSIONS);
  if (tagged === undefined) {
    return new Map();
  }
  return new Map(
    membersOf(readOne(tagged.content), TAG.sequence).map((extension) => {
      const parts = membersOf(extension, TAG.sequence);
      return [oidOf(parts[0]), contentOf(parts.at(-1), TAG.octetString)];
    }),
  );
}

function namedKeyId(extensions: ReadonlyMap<string, Buffer>): Buffer | undefined {
  const value = extensions.get(EXTENSION.subjectKeyId);
  return value && contentOf(readOne(value), TAG.octetString);
}

function maySign(extensions: ReadonlyMap<string, Buffer>): boolean {
  const usage = extensions.get(EXTENSION.keyUsage);
  return usage === undefined || ((contentOf(readOne(usage), TAG.bitString)[1] ?? 0) & KEY_CERT_SIGN) !== 0;
}
