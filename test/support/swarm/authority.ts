import type { KeyObject } from 'node:crypto';
import type { Identity } from '../../../swarm/ca/identity.ts';
import { readCertificate, type Certificate } from '../../../swarm/ca/x509/certificate.ts';
import { context, integer, sequence, time } from '../../../swarm/ca/x509/der-write.ts';
import { createRoot, issueNodeCertificate } from '../../../swarm/ca/x509/issue.ts';
import { createRequest } from '../../../swarm/ca/x509/request.ts';
import { signed } from '../../../swarm/ca/x509/sign.ts';
import type { Signer } from '../../../swarm/ca/x509/signer.ts';

export const DAY_MS = 86_400_000;
export const NOW = Date.now();
export const MANAGER: Identity = { node: 'node1', role: 'swarm-manager', cluster: 'cluster1' };
export const WORKER: Identity = { node: 'node2', role: 'swarm-worker', cluster: 'cluster1' };

/** A node with its key, certified by `root` from `now` for ninety days. */
export function nodeOf(
  root: Signer,
  identity: Identity,
  { now = NOW, expiryMs = 90 * DAY_MS } = {},
): { keyPem: string; certificate: Certificate } {
  const { requestPem, keyPem } = createRequest();
  return { keyPem, certificate: issueNodeCertificate(root, requestPem, identity, { now, expiryMs }) };
}

export const ROOT = createRoot(NOW);

/** A certificate that no part of the swarm would write, valid for a day around now. */
export function oddCertificate(
  key: KeyObject,
  parts: {
    issuer: Buffer;
    subject: Buffer;
    publicKey: Buffer;
    extensions: readonly Buffer[];
    until?: number;
  },
): Certificate {
  const der = signed(key, (algorithm) =>
    sequence(
      context(0, integer(2n), 'constructed'),
      integer(1n),
      algorithm,
      parts.issuer,
      sequence(time(NOW - DAY_MS), time(parts.until ?? NOW + DAY_MS)),
      parts.subject,
      parts.publicKey,
      context(3, sequence(...parts.extensions), 'constructed'),
    ),
  );
  return readCertificate(der);
}
