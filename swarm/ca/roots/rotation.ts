import { internal, invariant } from '../../../daemon/base/errors.ts';
import { limits } from '../../../daemon/base/limits.ts';
import type { Random } from '../../objects/random.ts';
import { crossSign } from '../x509/issue.ts';
import { isSameIssuer, issuerOf, newTokens, onlyCertificate, type Issuer, type RootState } from './root.ts';
import { signerOf, type Signer } from '../x509/signer.ts';

/**
 * A root is rotated in three steps, and all that has been reached stands in `RootState` and in what nodes report: a
 * manager that takes over goes on from there. (1) `beginRotation`: the new root signs, the old one is trusted. (2) As
 * `nextStep` says, nodes renew, some at a time. (3) `finishRotation`: the new root is trusted alone. Given the old root
 * again, `decideRoot` ends a rotation before that; a second rotation replaces the first.
 */
export interface RotatingNode {
  id: string;
  /** Of its certificate, as it last reported; undefined where it never did. */
  issuer?: Issuer;
  /** It has been told to renew, or is about to, and has not been given its certificate yet. */
  isRenewing: boolean;
}

export type RotationStep =
  | { do: 'nothing' }
  /** Tell these nodes to renew. Empty while all that have to are at it: a node that is down is waited for. */
  | { do: 'renew'; nodes: string[] }
  | { do: 'finish' };

/** The new root as the present one certifies it, where its key is here. */
export function crossSignedBy(current: RootState, certPem: string): string {
  invariant(current.keyPem !== undefined, 'a root without its key cross-signs nothing');
  return crossSign(signerOf(onlyCertificate(current.certPem), current.keyPem), onlyCertificate(certPem)).pem;
}

/** Throws internal, in swarmkit's words, unless `crossSignedPem` is the new root as certified by the present one. */
export function beginRotation(
  current: RootState,
  to: { certPem: string; keyPem?: string; crossSignedPem: string },
  forceRotate: number,
): RootState {
  const old = onlyCertificate(current.certPem);
  const next = onlyCertificate(to.certPem);
  const crossSigned = onlyCertificate(to.crossSignedPem);
  const isRight =
    crossSigned.isAuthority &&
    crossSigned.rawSubject.equals(next.rawSubject) &&
    crossSigned.publicKey.equals(next.publicKey) &&
    crossSigned.rawIssuer.equals(old.rawSubject) &&
    crossSigned.openssl.verify(old.openssl.publicKey);
  if (!isRight) {
    throw internal('unable to generate a cross-signed certificate for root rotation');
  }
  return { ...current, rotation: to, forcedRotation: forceRotate };
}

/** PEM of a signer as a rotation's aim. */
export function aimOf({ certificate, key }: Signer): { certPem: string; keyPem: string } {
  return { certPem: certificate.pem, keyPem: key.export({ type: 'pkcs8', format: 'pem' }).toString() };
}

/** What is to be done next, from all that is known. Pure. */
export function nextStep(root: RootState, nodes: Iterable<RotatingNode>): RotationStep {
  if (root.rotation === undefined) {
    return { do: 'nothing' };
  }
  const issuer = issuerOf(root);
  const behind = [...nodes].filter((node) => !isSameIssuer(node.issuer, issuer));
  if (behind.length === 0) {
    return { do: 'finish' };
  }
  const told = behind.filter(({ isRenewing }) => !isRenewing).map(({ id }) => id);
  return { do: 'renew', nodes: told.slice(0, limits.swarmRotatingNodesMax) };
}

/** The new root alone is trusted; both tokens are new, as they name the root. */
export function finishRotation(root: RootState, random: Random): RootState {
  const { rotation } = root;
  invariant(rotation !== undefined, 'a rotation that was never begun is finished');
  const { certPem, keyPem } = rotation;
  return {
    certPem,
    ...(keyPem === undefined ? {} : { keyPem }),
    forcedRotation: root.forcedRotation,
    tokens: newTokens(certPem, random),
  };
}
