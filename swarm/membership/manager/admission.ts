import type { Clock } from '../../../daemon/base/clock.ts';
import { EngineError } from '../../../daemon/base/errors.ts';
import { failpoint } from '../../../daemon/base/failpoint.ts';
import type { Identity } from '../../ca/identity.ts';
import { encodeKeyring } from '../../ca/keys/key-file.ts';
import type { Cluster } from '../../cluster/cluster.ts';
import type { Keyring } from '../../store/sealed.ts';
import type { EtcdMembers } from '../../store/etcd/members.ts';
import type { StoredMember } from '../files.ts';
import { nowMs, type Authority } from './authority.ts';
import type { SealedValues } from './sealed-values.ts';
import { certifyMember } from './store-identity.ts';

/** Time for a member to be taken: etcd wants all of them to have been connected for 5 s. */
export const ADMISSION_MS = 40_000;

interface Deps {
  clock: Clock;
  cluster: Cluster;
  members: EtcdMembers;
  authority: Authority;
  sealed: SealedValues;
  keyring: () => Keyring;
  clusterToken: string;
}

/** `manager.join`: a node with a manager's certificate becomes a member of the store. */
export interface JoinStoreRequest {
  peerUrl: string;
  /** For its certificate of the store's own authority. */
  requestPem: string;
}

/** What a manager has that workers have not. base64 where it is no PEM. */
export interface JoinStoreAnswer {
  keyring: string;
  /** `''`: managers are not locked. */
  unlockKey: string;
  authorityPem: string;
  certPem: string;
  memberId: string;
  cluster: StoredMember['cluster'];
  raft: StoredMember['raft'];
}

/** Takes new managers into the store. Every manager can, and each step may be repeated. */
export class Admission {
  readonly #deps: Deps;
  #turn: Promise<unknown> = Promise.resolve();

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  /** One at a time: etcd has one learner. */
  join(request: JoinStoreRequest, identity: Identity, signal: AbortSignal): Promise<JoinStoreAnswer> {
    const turn = this.#turn.then(() => this.#join(request, identity, signal));
    // Its caller is told; the next one only waits for its end.
    this.#turn = turn.catch(() => undefined);
    return turn;
  }

  /** The learner has said itself that it follows. */
  async promote(memberId: string, { node }: Identity, signal: AbortSignal): Promise<void> {
    const member = (await this.#deps.members.list()).find(({ id }) => id === memberId);
    if (member === undefined || (member.name !== '' && member.name !== node)) {
      throw new EngineError('forbidden', `the store's member ${memberId} is not of node ${node}`);
    }
    await this.#deps.members.promote(memberId, signal);
    failpoint('swarm.membership.promoted');
  }

  /** A manager counts where its store does. Throws unavailable. */
  async checkStore(): Promise<true> {
    const { leader } = await this.#deps.members.status();
    if (leader === '0') {
      throw new EngineError('unavailable', 'the member of the store has no leader');
    }
    return true;
  }

  async #join(
    { peerUrl, requestPem }: JoinStoreRequest,
    identity: Identity,
    signal: AbortSignal,
  ): Promise<JoinStoreAnswer> {
    const { cluster, members, sealed, authority, clock } = this.#deps;
    const { node } = identity;
    if (cluster.part('nodeState', node)?.role !== 'manager') {
      throw new EngineError('forbidden', `node ${node} is no manager`);
    }
    const storeAuthority = sealed.read('storeAuthority');
    if (storeAuthority === undefined) {
      throw new EngineError('unavailable', 'the swarm is not ready yet');
    }
    for (const { id, name, peerUrls } of await members.list()) {
      // It asks because it has no data: what it was before does not come back.
      if (name === node || (name !== '' && peerUrls.includes(peerUrl))) {
        await members.remove(id, signal);
        failpoint('swarm.membership.old-member-removed');
      }
    }
    const { id } = await members.addLearner(peerUrl, signal);
    failpoint('swarm.membership.learner-added');
    const others = (await members.list()).filter((member) => member.id !== id && member.name !== '');
    const peers = others.map(({ name, peerUrls }) => ({ name, peerUrl: peerUrls[0] ?? '' }));
    return {
      keyring: encodeKeyring(this.#deps.keyring()).toString('base64'),
      unlockKey: authority.unlockKeyBytes()?.toString('base64') ?? '',
      ...certifyMember(storeAuthority, { requestPem, identity, now: nowMs(clock), peerUrl }),
      memberId: id,
      cluster: {
        state: 'existing',
        token: this.#deps.clusterToken,
        peers: [...peers, { name: node, peerUrl }],
      },
      raft: cluster.state.cluster?.spec.Raft === undefined ? {} : raftOf(cluster.state.cluster.spec.Raft),
    };
  }
}

/** The part of the specification that a member is started with. */
export function raftOf(raft: {
  SnapshotInterval?: number;
  KeepOldSnapshots?: number | null;
  HeartbeatTick?: number;
  ElectionTick?: number;
}): StoredMember['raft'] {
  const { SnapshotInterval, KeepOldSnapshots, HeartbeatTick, ElectionTick } = raft;
  return {
    ...(SnapshotInterval === undefined ? {} : { SnapshotInterval }),
    ...(KeepOldSnapshots === undefined || KeepOldSnapshots === null ? {} : { KeepOldSnapshots }),
    ...(HeartbeatTick === undefined ? {} : { HeartbeatTick }),
    ...(ElectionTick === undefined ? {} : { ElectionTick }),
  };
}
