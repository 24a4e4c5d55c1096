import { EngineError } from '../../daemon/base/errors.ts';
import type { Certificate } from './x509/certificate.ts';
import { identityOf, type Identity, type Role } from './identity.ts';

const DAY_MS = 86_400_000;
/** A removed node's certificate is refused for longer than it lives: clocks differ. */
const BLOCKED_BEYOND_EXPIRY_MS = 7 * DAY_MS;
const USES = { server: '1.3.6.1.5.5.7.3.1', client: '1.3.6.1.5.5.7.3.2' } as const;

/** What a call asks of the node that makes it. */
export interface Rule {
  cluster: string;
  roles: readonly Role[];
  /** Removed nodes, with until when (milliseconds since 1970) they are refused. */
  blocked: ReadonlyMap<string, number>;
}

/**
 * The node behind a certificate whose chain has been verified. Asked for at each call, and again on open streams when
 * the blocked nodes change. Throws forbidden.
 */
export function authorise(leaf: Certificate, { cluster, roles, blocked }: Rule): Identity {
  const identity = identityOf(leaf);
  const uses = leaf.openssl.keyUsage ?? [];
  if (identity === undefined || !uses.includes(USES.client) || !uses.includes(USES.server)) {
    throw denied('remote certificate is none of a node');
  }
  if (identity.cluster !== cluster) {
    throw denied(`remote certificate not part of organization: ${cluster}`);
  }
  if (blocked.has(identity.node)) {
    throw denied(`node ${identity.node} was removed from swarm`);
  }
  if (!roles.includes(identity.role)) {
    throw denied(`remote certificate not part of OUs: [${roles.join(' ')}]`);
  }
  return identity;
}

/** Until when a removed node is refused. */
export function blockedUntil({ validUntil }: Pick<Certificate, 'validUntil'>): number {
  return validUntil + BLOCKED_BEYOND_EXPIRY_MS;
}

function denied(reason: string): EngineError {
  return new EngineError('forbidden', `Permission denied: ${reason}`);
}
