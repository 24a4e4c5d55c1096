import type { Identity } from '../../../swarm/ca/identity.ts';
import type { Certificate } from '../../../swarm/ca/x509/certificate.ts';
import { createRoot, issueNodeCertificate } from '../../../swarm/ca/x509/issue.ts';
import { createRequest } from '../../../swarm/ca/x509/request.ts';
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
