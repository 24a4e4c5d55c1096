import type { X509Certificate } from 'node:crypto';
import type { TLSSocket } from 'node:tls';
import type { Clock } from '../../daemon/base/clock.ts';
import { EngineError, isEngineError } from '../../daemon/base/errors.ts';
import { limits } from '../../daemon/base/limits.ts';
import { authorise } from '../ca/authorise.ts';
import { verifyChain } from '../ca/chain.ts';
import type { Identity, Role } from '../ca/identity.ts';
import { readCertificates } from '../ca/x509/certificate.ts';
import { writePem } from '../ca/x509/pem.ts';

const MANAGERS: readonly Role[] = ['swarm-manager'];
const NODES: readonly Role[] = ['swarm-worker', 'swarm-manager'];

/** By what a certificate is judged, as it is now. */
export interface Trust {
  clock: Clock;
  rootsPem: string;
  /** Undefined while a node joins: it learns the swarm's id with its certificate. */
  cluster: string | undefined;
  /** Removed nodes, with until when they are refused. */
  blocked: ReadonlyMap<string, number>;
  /** Raised with each change of these. */
  generation: number;
}

/** What the other side of a connection showed, certificate first; undefined for nothing. */
export function bundleOf(socket: TLSSocket): string | undefined {
  const shown: string[] = [];
  let certificate: X509Certificate | undefined = socket.getPeerX509Certificate();
  while (certificate !== undefined && shown.length <= limits.swarmChainCertificatesMax) {
    shown.push(writePem('CERTIFICATE', certificate.raw));
    const issuer: X509Certificate | undefined = certificate.issuerCertificate;
    certificate = issuer?.raw.equals(certificate.raw) === true ? undefined : issuer;
  }
  return shown.length === 0 ? undefined : shown.join('');
}

/** The node at the other end of one connection: judged again whenever what it is judged by has changed. */
export class Peer {
  readonly #bundlePem: string | undefined;
  #judged: { generation: number; atMs: number; result: Identity | EngineError } | undefined;

  constructor(bundlePem: string | undefined) {
    this.#bundlePem = bundlePem;
  }

  /** Throws unauthorized or forbidden. */
  identity(trust: Trust): Identity {
    const nowMs = Number(trust.clock.nowNano() / 1_000_000n);
    const judged = this.#judged;
    const isFresh =
      judged?.generation === trust.generation && Math.abs(nowMs - judged.atMs) < limits.swarmIdentityMs;
    const result = isFresh ? judged.result : this.#judge(trust, nowMs);
    this.#judged = isFresh ? judged : { generation: trust.generation, atMs: nowMs, result };
    if (result instanceof EngineError) {
      throw new EngineError(result.code, result.message, { cause: result });
    }
    return result;
  }

  #judge(trust: Trust, now: number): Identity | EngineError {
    try {
      return judge(this.#bundlePem ?? '', trust, { now, roles: NODES });
    } catch (error) {
      if (isEngineError(error)) {
        return error;
      }
      throw error;
    }
  }
}

/** The manager behind a server's certificate. Throws unauthorized or forbidden. */
export function managerOf(bundlePem: string | undefined, trust: Trust): Identity {
  const now = Number(trust.clock.nowNano() / 1_000_000n);
  return judge(bundlePem ?? '', trust, { now, roles: MANAGERS });
}

function judge(
  bundlePem: string,
  { rootsPem, cluster, blocked }: Trust,
  { now, roles }: { now: number; roles: readonly Role[] },
): Identity {
  const { leaf } = verifyChain(bundlePem, { roots: readCertificates(rootsPem), now });
  return authorise(leaf, { cluster: cluster ?? leaf.subject.organization, roles, blocked });
}
