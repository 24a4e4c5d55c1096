import type { TlsInfo } from '../../../api/types/swarm/node.ts';
import type { Clock } from '../../../daemon/base/clock.ts';
import { EngineError, internal, isEngineError } from '../../../daemon/base/errors.ts';
import { blockedUntil } from '../../ca/authorise.ts';
import { formatUnlockKey, newUnlockKey } from '../../ca/keys/unlock-key.ts';
import {
  decideRoot,
  unreachableAuthority,
  type External,
  type RootDecision,
} from '../../ca/roots/decision.ts';
import { ExternalCa } from '../../ca/roots/external-ca.ts';
import { issuerOf, newTokens, type RootState } from '../../ca/roots/root.ts';
import { aimOf, beginRotation, crossSignedBy } from '../../ca/roots/rotation.ts';
import { readCertificates } from '../../ca/x509/certificate.ts';
import { createRoot } from '../../ca/x509/issue.ts';
import { signerOf } from '../../ca/x509/signer.ts';
import type { Cluster } from '../../cluster/cluster.ts';
import type { RootAuthority, RootChange, RootWrites } from '../../control/ports.ts';
import type { Random } from '../../objects/random.ts';
import { blockedKey, certificateKey } from '../../objects/values.ts';
import type { SessionMessage } from '../../protocol/session.ts';
import type { Credentials } from '../../rpc/credentials.ts';
import type { Write } from '../../store/port.ts';
import { isSameText, readRecord, textOf, type IssuerText } from './certificate-record.ts';
import type { DataKeys } from '../keys/data-keys.ts';
import { sealedWrite, type SealedValues } from './sealed-values.ts';

interface Deps {
  clock: Clock;
  random: Random;
  cluster: Cluster;
  sealed: SealedValues;
  /** Of this node: authorities outside of the swarm are spoken to with them. */
  credentials: () => Credentials;
  keys: Pick<DataKeys, 'follow' | 'propose'>;
}

/** The swarm's root, tokens and unlock key, as the store has them. */
export class Authority implements RootAuthority {
  readonly #deps: Deps;
  /** By root: reading its certificate for each of a thousand nodes takes seconds. */
  readonly #issuers = new WeakMap<RootState, IssuerText>();

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  /** Throws internal where the store has none, which no swarm is without. */
  root(): RootState {
    const root = this.#deps.sealed.read('root');
    if (root === undefined) {
      throw internal('the swarm has no root certificate');
    }
    return root;
  }

  get isRotating(): boolean {
    return this.root().rotation !== undefined;
  }

  async tokens(): Promise<{ worker: string; manager: string }> {
    return this.root().tokens;
  }

  /** The issuer that nodes shall have: while a root is rotated, the new one. */
  tlsInfo(): TlsInfo {
    const root = this.root();
    const issuer = this.#issuerOf(root);
    return {
      TrustRoot: root.certPem,
      CertIssuerSubject: issuer.subject,
      CertIssuerPublicKey: issuer.publicKey,
    };
  }

  async unlockKey(): Promise<string> {
    if (this.#isUnlockKeyHidden()) {
      // Another manager has just locked the swarm.
      await this.#deps.keys.follow();
    }
    const key = this.unlockKeyBytes();
    return key === undefined ? '' : formatUnlockKey(key);
  }

  unlockKeyBytes(): Buffer | undefined {
    const text = this.#deps.sealed.read('unlockKey')?.key ?? '';
    return text === '' ? undefined : Buffer.from(text, 'base64');
  }

  rootFor(node: string): Extract<SessionMessage, { kind: 'root' }> {
    const root = this.root();
    const wanted = this.#issuerOf(root);
    const record = readRecord(this.#deps.cluster, node);
    // While a root is rotated a node is asked when its turn has come, and not before.
    const isItsTurn = root.rotation === undefined || isSameText(record?.renewTo, wanted);
    const issuer = isItsTurn || record === undefined ? wanted : record.issuer;
    return {
      kind: 'root',
      trustPem: root.certPem,
      issuerSubject: issuer.subject,
      issuerPublicKey: issuer.publicKey,
    };
  }

  removalOf(node: string): readonly Write[] {
    const record = readRecord(this.#deps.cluster, node);
    if (record === undefined) {
      return [];
    }
    const until = blockedUntil({ validUntil: record.validUntil });
    return [
      { kind: 'put', key: blockedKey(node), value: Buffer.from(JSON.stringify({ until })) },
      { kind: 'delete', key: certificateKey(node) },
    ];
  }

  async prepare(change: RootChange): Promise<RootWrites> {
    const { sealed, random } = this.#deps;
    const conditions = [sealed.condition('root'), sealed.condition('unlockKey')];
    const current = this.root();
    const now = nowMs(this.#deps.clock);
    const decision = decideRoot(current, change.wish, now);
    await this.#checkReachable(decision.reachable);
    const decided = await this.#follow(current, change, decision);
    const fresh = newTokens(decided.certPem, random);
    const root: RootState = {
      ...decided,
      tokens: {
        worker: change.rotateWorkerToken ? fresh.worker : decided.tokens.worker,
        manager: change.rotateManagerToken ? fresh.manager : decided.tokens.manager,
      },
    };
    const isSame = JSON.stringify(root) === JSON.stringify(current);
    return {
      conditions,
      writes: [...(isSame ? [] : [sealed.write('root', root)]), ...(await this.#locking(change))],
    };
  }

  async applied(): Promise<void> {
    await this.#deps.keys.follow();
  }

  /** What new certificates are signed by; the same for as long as the root stands. */
  #issuerOf(root: RootState): IssuerText {
    const known = this.#issuers.get(root);
    if (known !== undefined) {
      return known;
    }
    const issuer = textOf(issuerOf(root));
    this.#issuers.set(root, issuer);
    return issuer;
  }

  async #locking({ autoLock, rotateUnlockKey }: RootChange): Promise<Write[]> {
    const { sealed, random, keys } = this.#deps;
    const isHidden = this.#isUnlockKeyHidden();
    const isLocked = isHidden || this.unlockKeyBytes() !== undefined;
    if (autoLock === isLocked && !(autoLock && rotateUnlockKey)) {
      return [];
    }
    const key = autoLock ? newUnlockKey(random).toString('base64') : '';
    // What lay on the disks until now opens nothing that is sealed from here on. A key that is lost opens nothing
    // either.
    const isNewKeyDue = isHidden || (autoLock && !isLocked);
    const sealer = isNewKeyDue ? await keys.propose() : undefined;
    return [sealer ? sealedWrite(sealer, 'unlockKey', { key }) : sealed.write('unlockKey', { key })];
  }

  /** The swarm was locked by a manager whose new data key is not here. */
  #isUnlockKeyHidden(): boolean {
    try {
      this.unlockKeyBytes();
      return false;
    } catch (error) {
      if (isEngineError(error, 'failed_precondition')) {
        return true;
      }
      throw error;
    }
  }

  async #follow(current: RootState, { wish }: RootChange, decision: RootDecision): Promise<RootState> {
    if (decision.do === 'keep') {
      return current;
    }
    if (decision.do === 'store') {
      return decision.root;
    }
    const now = nowMs(this.#deps.clock);
    const { crossSignBy } = decision;
    if (decision.to === undefined) {
      const next = createRoot(now);
      const crossSignedPem =
        crossSignBy === 'own key'
          ? crossSignedBy(current, next.certificate.pem)
          : (await this.externals(crossSignBy).crossSign(next)).pem;
      return beginRotation(current, { ...aimOf(next), crossSignedPem }, wish.forceRotate);
    }
    const { certPem, keyPem } = decision.to;
    if (crossSignBy === 'own key') {
      return beginRotation(
        current,
        { ...decision.to, crossSignedPem: crossSignedBy(current, certPem) },
        wish.forceRotate,
      );
    }
    const [certificate] = readCertificates(certPem);
    if (certificate === undefined || keyPem === undefined) {
      throw internal('an external CA cross-signs a root whose key is here');
    }
    const crossed = await this.externals(crossSignBy).crossSign(signerOf(certificate, keyPem));
    return beginRotation(current, { ...decision.to, crossSignedPem: crossed.pem }, wish.forceRotate);
  }

  async #checkReachable(wanted: RootDecision['reachable']): Promise<void> {
    for (const { signsFor, authorities } of wanted) {
      if (!(await this.externals(authorities).isReachable())) {
        throw unreachableAuthority(signsFor);
      }
    }
  }

  externals(authorities: readonly External[]): ExternalCa {
    const { rootsPem, own } = this.#deps.credentials();
    if (own === undefined) {
      throw new EngineError('unavailable', 'this node has no certificate yet');
    }
    const urls = authorities.map(({ url }) => url);
    return new ExternalCa(urls, { certPem: own.certPem, keyPem: own.keyPem, rootsPem });
  }
}

export function nowMs(clock: Clock): number {
  return Number(clock.nowNano() / 1_000_000n);
}
