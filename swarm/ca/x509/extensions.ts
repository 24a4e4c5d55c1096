import { createHash } from 'node:crypto';
import { contentOf, membersOf, readOne } from './der-read.ts';
import { bitString, boolean, context, octetString, oid, sequence, TAG } from './der-write.ts';

/** Object identifiers of the extensions of RFC 5280 that swarms write. */
export const EXTENSION = {
  subjectKeyId: '2.5.29.14',
  keyUsage: '2.5.29.15',
  alternativeNames: '2.5.29.17',
  basicConstraints: '2.5.29.19',
  authorityKeyId: '2.5.29.35',
  extendedKeyUsage: '2.5.29.37',
} as const;

/** Bits of a key usage, the first in the highest bit. */
const USAGE = { certificates: [0x06, 1], handshakes: [0xa0, 5] } as const;
const SERVER_AND_CLIENT = ['1.3.6.1.5.5.7.3.1', '1.3.6.1.5.5.7.3.2'];
const DNS_NAME = 2;
const IP_ADDRESS = 7;

export function encodeExtension(name: keyof typeof EXTENSION, value: Uint8Array, isCritical = false): Buffer {
  return sequence(oid(EXTENSION[name]), ...(isCritical ? [boolean(true)] : []), octetString(value));
}

/** Names of the keys of a certificate and of its issuer (RFC 5280), which are no proof of anything. */
export interface KeyIds {
  own: Uint8Array;
  issuer: Uint8Array;
}

/**
 * A root, or one that another certifies: signs certificates and nothing else. The issuer's key is named, as all roots
 * of a swarm have one name: without it OpenSSL takes a cross-signed root for one that signed itself.
 */
export function authorityExtensions(ids: KeyIds): Buffer[] {
  return [
    encodeExtension('keyUsage', usage('certificates'), true),
    encodeExtension('basicConstraints', basicConstraints(true), true),
    encodeExtension('subjectKeyId', octetString(ids.own)),
    encodeExtension('authorityKeyId', authorityKeyId(ids.issuer)),
  ];
}

/** A node: client and server of TLS under these DNS names and addresses, never an authority. */
export function nodeExtensions(
  { names, addresses }: { names: readonly string[]; addresses: readonly Uint8Array[] },
  ids: KeyIds,
): Buffer[] {
  return [
    encodeExtension('keyUsage', usage('handshakes'), true),
    encodeExtension('extendedKeyUsage', sequence(...SERVER_AND_CLIENT.map(oid))),
    encodeExtension('basicConstraints', basicConstraints(false), true),
    encodeExtension('subjectKeyId', octetString(ids.own)),
    encodeExtension('authorityKeyId', authorityKeyId(ids.issuer)),
    encodeExtension(
      'alternativeNames',
      sequence(
        ...names.map((name) => context(DNS_NAME, Buffer.from(name), 'primitive')),
        ...addresses.map((address) => context(IP_ADDRESS, address, 'primitive')),
      ),
    ),
  ];
}

/** The value of the extension, also as external authorities want to be told it. */
export function basicConstraints(isAuthority: boolean): Buffer {
  return sequence(...(isAuthority ? [boolean(true)] : []));
}

function authorityKeyId(issuer: Uint8Array): Buffer {
  return sequence(context(0, issuer, 'primitive'));
}

function usage(of: keyof typeof USAGE): Buffer {
  const [bits, unused] = USAGE[of];
  return bitString(Buffer.of(bits), unused);
}

/** SHA-1 of the key's bits: the first method of RFC 5280. Certificates of others may name their keys otherwise. */
export function keyIdOf(publicKey: Uint8Array): Buffer {
  const [, bits] = membersOf(readOne(publicKey), TAG.sequence);
  return createHash('sha1').update(contentOf(bits, TAG.bitString).subarray(1)).digest();
}
