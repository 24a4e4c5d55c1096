import { invalidArgument } from '../../../daemon/base/errors.ts';
import type { Random } from '../../objects/random.ts';
import { readCertificate, readCertificates, type Certificate } from '../x509/certificate.ts';
import { readPem } from '../x509/pem.ts';
import { newJoinToken } from '../tokens.ts';
import { signerOf, type Signer } from '../x509/signer.ts';

/** The swarm's root as the store keeps it, sealed. PEM throughout, certificates normalised. */
export interface RootState {
  /** What all nodes trust. */
  certPem: string;
  /** Absent where an external authority signs. */
  keyPem?: string;
  rotation?: RootRotation;
  /** The value of `ForceRotate` that was last acted on. */
  forcedRotation: number;
  tokens: { worker: string; manager: string };
}

/** A root that is to take over: everything new is signed with it, while nodes still trust the old one. */
export interface RootRotation {
  certPem: string;
  keyPem?: string;
  /** The new root as the old one certifies it: goes along with every certificate that the new one signs. */
  crossSignedPem: string;
}

/** The authority behind a certificate, as nodes report it. */
export interface Issuer {
  /** DER of the name. */
  subject: Buffer;
  /** DER of the SubjectPublicKeyInfo. */
  publicKey: Buffer;
}

/** What new certificates are signed with. */
export interface Signing {
  /** Absent where an external authority signs. */
  signer?: Signer;
  /** The issuer that every certificate shall have. */
  issuer: Issuer;
  /** PEM to append to every certificate. */
  intermediatesPem: string;
}

/** The first state of a swarm whose root is this. */
export function newRootState({ certificate, key }: Signer, random: Random): RootState {
  return {
    certPem: certificate.pem,
    keyPem: key.export({ type: 'pkcs8', format: 'pem' }).toString(),
    forcedRotation: 0,
    tokens: newTokens(certificate.pem, random),
  };
}

export function newTokens(certPem: string, random: Random): RootState['tokens'] {
  return { worker: newJoinToken(certPem, random), manager: newJoinToken(certPem, random) };
}

export function signingOf({ certPem, keyPem, rotation }: RootState): Signing {
  const current = rotation ?? { certPem, keyPem, crossSignedPem: '' };
  const certificate = onlyCertificate(current.certPem);
  return {
    ...(current.keyPem === undefined ? {} : { signer: signerOf(certificate, current.keyPem) }),
    issuer: issuerIn(certificate),
    intermediatesPem: current.crossSignedPem,
  };
}

/** The issuer that every certificate shall have, without a look at the key. */
export function issuerOf({ certPem, rotation }: RootState): Issuer {
  return issuerIn(onlyCertificate((rotation ?? { certPem }).certPem));
}

function issuerIn({ rawSubject, publicKey }: Certificate): Issuer {
  return { subject: rawSubject, publicKey };
}

export function isSameIssuer(a: Issuer | undefined, b: Issuer): boolean {
  return a !== undefined && a.subject.equals(b.subject) && a.publicKey.equals(b.publicKey);
}

/** Throws invalid_argument unless the text holds exactly one certificate. */
export function onlyCertificate(pem: string): Certificate {
  const [block, ...more] = readPem(pem).filter(({ label }) => label === 'CERTIFICATE');
  if (block === undefined) {
    throw invalidArgument('could not parse the desired CA certificate');
  }
  if (more.length > 0) {
    throw invalidArgument('the desired CA certificate cannot contain multiple certificates');
  }
  return readCertificate(block.bytes);
}

/** Roots that nodes trust. */
export function trustedRoots({ certPem }: RootState): Certificate[] {
  return readCertificates(certPem);
}
