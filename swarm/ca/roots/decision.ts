import { invalidArgument } from '../../../daemon/base/errors.ts';
import type { Certificate } from '../x509/certificate.ts';
import { normalisedCertificates } from '../x509/pem.ts';
import { onlyCertificate, type RootState } from './root.ts';
import { signerOf } from '../x509/signer.ts';

const YEAR_MS = 365 * 86_400_000;

/** The part of the swarm's specification that is about its root. */
export interface RootWish {
  signingCertPem?: string;
  signingKeyPem?: string;
  forceRotate: number;
  externals: readonly External[];
}

/** An external authority: signs for the root given, else for the swarm's present one. */
export interface External {
  url: string;
  certPem?: string;
}

/** What follows from a wish. */
export type RootDecision = (
  | { do: 'keep' }
  | { do: 'store'; root: RootState }
  /** `to` is undefined for a root yet to be made. Authorities cross-sign where the old root's key is away. */
  | {
      do: 'rotate';
      to: { certPem: string; keyPem?: string } | undefined;
      crossSignBy: 'own key' | readonly External[];
    }
) & {
  /** External authorities of which at least one has to be reachable before anything is done, by what they sign for. */
  reachable: readonly { signsFor: 'current' | 'next' | 'desired'; authorities: readonly External[] }[];
};

/**
 * What a new specification means for the root: nothing, another place of the same key, an end to a rotation, or a
 * rotation. Throws invalid_argument in swarmkit's words. Pure.
 */
export function decideRoot(current: RootState, wish: RootWish, now: number): RootDecision {
  const { signingKeyPem: keyPem } = wish;
  if (keyPem !== undefined && wish.signingCertPem === undefined) {
    throw invalidArgument('if a signing CA key is provided, the signing CA cert must also be provided');
  }
  const desired = wish.signingCertPem === undefined ? undefined : normalisedCertificates(wish.signingCertPem);
  if (current.keyPem === undefined && desired === current.certPem && keyPem !== undefined) {
    // The external authority's key moves in: what it signed stays valid.
    signerOf(onlyCertificate(desired), keyPem);
    return { do: 'store', root: settled(current, keyPem, wish.forceRotate), reachable: [] };
  }
  const authorities = current.keyPem === undefined ? authoritiesFor(current.certPem, current, wish) : [];
  const reachable: RootDecision['reachable'] =
    current.keyPem === undefined
      ? [{ signsFor: 'current', authorities: required('current', authorities) }]
      : [];
  const crossSignBy = current.keyPem === undefined ? authorities : ('own key' as const);
  return desired === undefined
    ? decideWithoutCertificate(current, wish, { reachable, crossSignBy })
    : decideCertificate(current, { wish, desired, now }, { reachable, crossSignBy });
}

interface Means {
  reachable: RootDecision['reachable'];
  crossSignBy: 'own key' | readonly External[];
}

function decideWithoutCertificate(current: RootState, wish: RootWish, means: Means): RootDecision {
  if (wish.forceRotate !== current.forcedRotation) {
    return { do: 'rotate', to: undefined, ...means };
  }
  const { rotation } = current;
  const next =
    rotation === undefined || rotation.keyPem !== undefined
      ? []
      : [
          {
            signsFor: 'next' as const,
            authorities: required('next', authoritiesFor(rotation.certPem, current, wish)),
          },
        ];
  return { do: 'keep', reachable: [...means.reachable, ...next] };
}

function decideCertificate(
  current: RootState,
  { wish, desired, now }: { wish: RootWish; desired: string; now: number },
  { reachable, crossSignBy }: Means,
): RootDecision {
  const { signingKeyPem: keyPem, forceRotate } = wish;
  const certificate = onlyCertificate(desired);
  checkRoot(certificate, now);
  if (keyPem !== undefined) {
    signerOf(certificate, keyPem);
  }
  const reachableNow = [
    ...reachable,
    ...(keyPem === undefined
      ? [
          {
            signsFor: 'desired' as const,
            authorities: required('desired', authoritiesFor(desired, current, wish)),
          },
        ]
      : []),
  ];
  if (desired === current.certPem) {
    return { do: 'store', root: settled(current, keyPem, forceRotate), reachable: reachableNow };
  }
  if (certificate.publicKey.equals(onlyCertificate(current.certPem).publicKey)) {
    throw invalidArgument('Cannot update to a cert with an identical key');
  }
  const to = { certPem: desired, ...(keyPem === undefined ? {} : { keyPem }) };
  if (current.rotation?.certPem === desired) {
    const rotation = { ...to, crossSignedPem: current.rotation.crossSignedPem };
    return {
      do: 'store',
      root: { ...current, rotation, forcedRotation: forceRotate },
      reachable: reachableNow,
    };
  }
  if (crossSignBy !== 'own key' && keyPem === undefined) {
    throw invalidArgument('rotating from one external CA to a different external CA is not supported');
  }
  return { do: 'rotate', to, crossSignBy, reachable: reachableNow };
}

/** The present root with its key here or away, and no rotation any more. */
function settled(current: RootState, keyPem: string | undefined, forceRotate: number): RootState {
  const { keyPem: _key, rotation: _rotation, ...rest } = current;
  return { ...rest, ...(keyPem === undefined ? {} : { keyPem }), forcedRotation: forceRotate };
}

function checkRoot(certificate: Certificate, now: number): void {
  const { isAuthority, isStronglySigned, openssl } = certificate;
  if (!isAuthority || !isStronglySigned || !openssl.verify(openssl.publicKey)) {
    throw invalidArgument(
      'error while validating Root CA Certificate: it is not a self-signed certificate of a CA',
    );
  }
  if (now < certificate.validFrom) {
    throw invalidArgument('error while validating Root CA Certificate: it is not valid yet');
  }
  if (certificate.validUntil < now + YEAR_MS) {
    throw invalidArgument('CA certificate expires too soon');
  }
}

function authoritiesFor(certPem: string, current: RootState, { externals }: RootWish): External[] {
  return externals.filter(
    (each) =>
      (each.certPem === undefined ? current.certPem : normalisedCertificates(each.certPem)) === certPem,
  );
}

function required(of: 'current' | 'next' | 'desired', authorities: readonly External[]): readonly External[] {
  if (authorities.length === 0) {
    throw unreachableAuthority(of);
  }
  return authorities;
}

export function unreachableAuthority(of: 'current' | 'next' | 'desired'): Error {
  return invalidArgument(
    `there must be at least one valid, reachable external CA corresponding to the ${of} CA certificate`,
  );
}
