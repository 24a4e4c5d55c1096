import type { Identity } from '../../ca/identity.ts';
import type { StoreIdentity } from '../../ca/keys/key-file.ts';
import { readCertificate, readCertificates } from '../../ca/x509/certificate.ts';
import { createRoot, issueNodeCertificate } from '../../ca/x509/issue.ts';
import { createRequest } from '../../ca/x509/request.ts';
import { signerOf } from '../../ca/x509/signer.ts';
import { addressBytes, parseIp } from '../../../daemon/base/addresses/ip.ts';
import { invariant } from '../../../daemon/base/errors.ts';

/** The authority of the store's own connections, as it is stored sealed. PEM. */
export interface StoreAuthority {
  certPem: string;
  keyPem: string;
}

/**
 * As long as the authority: who is a member the store itself knows, and a manager that was off for long must be able to
 * come back, to renew its own certificate.
 */
const LIFE_MS = 19 * 365.25 * 86_400_000;

export function newStoreAuthority(now: number): StoreAuthority {
  const { certificate, key } = createRoot(now);
  return { certPem: certificate.pem, keyPem: key.export({ type: 'pkcs8', format: 'pem' }).toString() };
}

/** A manager's certificate for the store, by its own request: the key stays where it was made. */
export function certifyMember(
  { certPem, keyPem }: StoreAuthority,
  {
    requestPem,
    identity,
    now,
    peerUrl,
  }: { requestPem: string; identity: Identity; now: number; peerUrl: string },
): Omit<StoreIdentity, 'keyPem'> {
  const [authority] = readCertificates(certPem);
  invariant(authority !== undefined, 'an authority has a certificate');
  const signer = signerOf(readCertificate(authority.raw), keyPem);
  const certificate = issueNodeCertificate(
    signer,
    requestPem,
    { ...identity, role: 'swarm-manager' },
    { now, expiryMs: LIFE_MS, addresses: addressesOf(peerUrl) },
  );
  return { authorityPem: certPem, certPem: certificate.pem };
}

/** For the manager that has the authority. */
export function newStoreIdentity(
  authority: StoreAuthority,
  of: { identity: Identity; now: number; peerUrl: string },
): StoreIdentity {
  const { requestPem, keyPem } = createRequest();
  return { ...certifyMember(authority, { ...of, requestPem }), keyPem };
}

/** Members look for the address of those that they dial. */
function addressesOf(peerUrl: string): Buffer[] {
  const address = parseIp(new URL(peerUrl).hostname.replaceAll(/[[\]]/g, ''));
  return address === undefined ? [] : [addressBytes(address)];
}
