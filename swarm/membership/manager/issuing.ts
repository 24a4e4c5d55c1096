import type { NodeSpec } from '../../../api/types/swarm/node.ts';
import type { Clock } from '../../../daemon/base/clock.ts';
import { EngineError, failedPrecondition, invalidArgument } from '../../../daemon/base/errors.ts';
import { failpoint } from '../../../daemon/base/failpoint.ts';
import type { Identity } from '../../ca/identity.ts';
import { signingOf } from '../../ca/roots/root.ts';
import { roleOfToken } from '../../ca/tokens.ts';
import { readCertificates } from '../../ca/x509/certificate.ts';
import { issueNodeCertificate } from '../../ca/x509/issue.ts';
import { normalisedCertificates } from '../../ca/x509/pem.ts';
import type { Cluster } from '../../cluster/cluster.ts';
import { newSwarmId } from '../../objects/ids.ts';
import { put } from '../../objects/parts.ts';
import type { Random } from '../../objects/random.ts';
import type { Caller } from '../../rpc/port.ts';
import { nowMs, type Authority } from './authority.ts';
import { recordWrite, textOf } from './certificate-record.ts';
import { TokenGuard } from './token-guard.ts';

const DEFAULT_EXPIRY_MS = 90 * 86_400_000;
const NANO_PER_MS = 1e6;
const WRONG_TOKEN =
  'rpc error: code = InvalidArgument desc = A valid join token is necessary to join this cluster';

interface Deps {
  clock: Clock;
  random: Random;
  cluster: Cluster;
  authority: Authority;
}

/** `ca.issue`. The request says nothing but the public key; with a token the caller is a new node, else itself. */
export interface IssueRequest {
  requestPem: string;
  token?: string;
  availability?: NodeSpec['Availability'];
}

export interface IssueAnswer {
  /** The certificate, and what certifies it. */
  certPem: string;
  rootsPem: string;
  /** Where the call came from. */
  address: string;
}

/** Gives nodes their certificates. */
export class Issuing {
  readonly #deps: Deps;
  readonly #guard: TokenGuard;

  constructor(deps: Deps) {
    this.#deps = deps;
    this.#guard = new TokenGuard(deps.clock);
  }

  /** Throws invalid_argument for a wrong token, unauthorized for a caller that is no node and has no token. */
  async issue(
    request: IssueRequest,
    { identity, address }: Pick<Caller, 'identity' | 'address'>,
  ): Promise<IssueAnswer> {
    const { token } = request;
    if (token !== undefined) {
      const role = this.#roleBy(token, address);
      return { ...(await this.#admit(request, role)), address };
    }
    if (identity === undefined) {
      throw new EngineError(
        'unauthorized',
        'a certificate is issued for a join token or a valid certificate',
      );
    }
    return { ...(await this.renew(request.requestPem, identity)), address };
  }

  /** A node's next certificate: its role is what the store says. Throws forbidden for a node that is not there. */
  async renew(
    requestPem: string,
    { node, cluster }: Pick<Identity, 'node' | 'cluster'>,
  ): Promise<Omit<IssueAnswer, 'address'>> {
    const state = this.#deps.cluster.part('nodeState', node);
    if (state === undefined) {
      throw new EngineError('forbidden', `node ${node} is not part of the swarm`);
    }
    const role = state.role === 'manager' ? 'swarm-manager' : 'swarm-worker';
    const signed = await this.#sign(requestPem, { node, cluster, role });
    await this.#deps.cluster.commit({ conditions: [], values: [signed.record] });
    failpoint('swarm.membership.renewed');
    return { certPem: signed.certPem, rootsPem: this.#deps.authority.root().certPem };
  }

  #roleBy(token: string, address: string): Identity['role'] {
    this.#guard.check(address);
    const role = roleOfToken(token, this.#deps.authority.root().tokens);
    if (role === undefined) {
      this.#guard.note(address);
      throw invalidArgument(WRONG_TOKEN);
    }
    return role;
  }

  async #admit(
    { requestPem, availability = 'active' }: IssueRequest,
    role: Identity['role'],
  ): Promise<Omit<IssueAnswer, 'address'>> {
    const { cluster, random, clock, authority } = this.#deps;
    const id = newSwarmId(random);
    const record = cluster.state.cluster;
    if (record === undefined) {
      throw new EngineError('unavailable', 'the swarm is not ready yet');
    }
    const signed = await this.#sign(requestPem, { node: id, cluster: record.id, role });
    const now = nowMs(clock);
    const Role = role === 'swarm-manager' ? 'manager' : 'worker';
    await cluster.commit({
      conditions: [],
      parts: [
        put('node', { id, created: now, updated: now, spec: { Role, Availability: availability } }),
        put('nodeState', { id, role: Role, state: 'unknown', message: '', addr: '', since: now }),
      ],
      values: [signed.record],
    });
    failpoint('swarm.membership.admitted');
    return { certPem: signed.certPem, rootsPem: authority.root().certPem };
  }

  async #sign(
    requestPem: string,
    identity: Identity,
  ): Promise<{ certPem: string; record: ReturnType<typeof recordWrite> }> {
    const { clock, cluster, authority } = this.#deps;
    const { CAConfig = {} } = cluster.state.cluster?.spec ?? {};
    const now = nowMs(clock);
    const root = authority.root();
    const { signer, issuer, intermediatesPem } = signingOf(root);
    let certPem: string;
    if (signer === undefined) {
      const trusted = (root.rotation ?? root).certPem;
      const externals = (CAConfig.ExternalCAs ?? [])
        .filter(({ CACert }) => normalisedCertificates(CACert || root.certPem) === trusted)
        .flatMap(({ URL }) => (URL === undefined ? [] : [{ url: URL }]));
      if (externals.length === 0) {
        throw failedPrecondition('the swarm has neither a key of its root nor an external CA for it');
      }
      certPem = await authority.externals(externals).sign(requestPem, identity, { now, intermediatesPem });
    } else {
      const expiryMs = (CAConfig.NodeCertExpiry ?? 0) / NANO_PER_MS || DEFAULT_EXPIRY_MS;
      certPem = issueNodeCertificate(signer, requestPem, identity, { now, expiryMs }).pem + intermediatesPem;
    }
    const validUntil = readCertificates(certPem)[0]?.validUntil ?? now;
    return { certPem, record: recordWrite(identity.node, { issuer: textOf(issuer), validUntil }) };
  }
}
