import type { Clock } from '../../../daemon/base/clock.ts';
import { pause } from '../../../daemon/base/concurrency/pause.ts';
import { invariant, isEngineError } from '../../../daemon/base/errors.ts';
import { limits } from '../../../daemon/base/limits.ts';
import { isStoreError } from '../errors.ts';
import type { EtcdChannel } from './channel.ts';
import type { ValueOf } from '../../../daemon/base/wire/protobuf.ts';
import { calls } from './messages.ts';

export type Member = ValueOf<typeof calls.members.answer>['members'][number];
export type MemberStatus = ValueOf<typeof calls.status.answer>;

const RETRY_MS = 250;
/** Entries that a learner may be behind when it says that it follows: what is written meanwhile. */
const BEHIND_MAX = 100;

/**
 * The members of the cluster, changed through this manager's own one. etcd takes changes only while all members have
 * been connected for 5 s, and one learner at a time: what it refuses for that is asked again, for
 * `limits.swarmStoreMembershipMs`, and nobody has to see it. All of it may be repeated.
 */
export class EtcdMembers {
  readonly #clock: Clock;
  readonly #channel: EtcdChannel;

  constructor({ clock, channel }: { clock: Clock; channel: EtcdChannel }) {
    this.#clock = clock;
    this.#channel = channel;
  }

  async list(): Promise<readonly Member[]> {
    const { members } = await this.#channel.ask(calls.members, {});
    return members;
  }

  /** What this manager's member says of itself; also without a majority. */
  status(): Promise<MemberStatus> {
    return this.#channel.ask(calls.status, {});
  }

  /** Adds a member that does not vote yet. One of this address that has not started is that one. */
  addLearner(peerUrl: string, signal?: AbortSignal): Promise<Member> {
    return this.#untilTaken(signal, async () => {
      const known = (await this.list()).find(({ peerUrls }) => peerUrls.includes(peerUrl));
      if (known !== undefined) {
        return known;
      }
      const { member } = await this.#channel.ask(calls.addMember, { peerUrls: [peerUrl], learner: true });
      invariant(member !== undefined, 'etcd answers with the member');
      return member;
    });
  }

  /**
   * Lets a learner vote, once it has what the others have. The learner must have said that it runs (`whenFollowing`):
   * etcd before 3.4.24 promotes one that was never started, and that can cost the majority.
   */
  promote(id: string, signal?: AbortSignal): Promise<void> {
    return this.#untilTaken(signal, async () => {
      const member = (await this.list()).find((one) => one.id === id);
      if (member?.learner !== false) {
        await this.#channel.ask(calls.promoteMember, { id });
      }
    });
  }

  /** Removes a member; one that is not there is removed already. */
  remove(id: string, signal?: AbortSignal): Promise<void> {
    return this.#untilTaken(signal, async () => {
      try {
        await this.#channel.ask(calls.removeMember, { id });
      } catch (error) {
        if (!isEngineError(error, 'not_found')) {
          throw error;
        }
      }
    });
  }

  /** The address by which the others reach a member has changed. */
  async update(id: string, peerUrl: string): Promise<void> {
    await this.#channel.ask(calls.updateMember, { id, peerUrls: [peerUrl] });
  }

  /** Only the leader's own member can hand over. */
  async moveLeader(target: string): Promise<void> {
    await this.#channel.ask(calls.moveLeader, { target });
  }

  /** Resolves when this manager's own member runs, knows its leader and has what it has. */
  whenFollowing(signal?: AbortSignal): Promise<void> {
    return this.#untilTaken(signal, async () => {
      const { leader, raftIndex, appliedIndex } = await this.status();
      if (leader === '0' || raftIndex === 0 || raftIndex - appliedIndex > BEHIND_MAX) {
        throw new NotYet('the member has no leader yet, or not all of its data');
      }
    });
  }

  async #untilTaken<T>(
    signal: AbortSignal = new AbortController().signal,
    attempt: () => Promise<T>,
  ): Promise<T> {
    const endMs = this.#clock.monotonicMs() + limits.swarmStoreMembershipMs;
    for (;;) {
      try {
        return await attempt();
      } catch (error) {
        if (!isPassing(error) || signal.aborted || this.#clock.monotonicMs() > endMs) {
          throw error;
        }
        await pause(this.#clock, RETRY_MS, signal);
      }
    }
  }
}

class NotYet extends Error {}

/** `failed_precondition`: a learner is there already, or not in step yet, or too few members have started. */
function isPassing(error: unknown): boolean {
  return (
    error instanceof NotYet ||
    isStoreError(error, 'unavailable') ||
    isStoreError(error, 'unknown') ||
    isEngineError(error, 'failed_precondition')
  );
}
