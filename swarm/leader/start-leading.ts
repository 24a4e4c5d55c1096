import type { Clock } from '../../daemon/base/clock.ts';
import { pause } from '../../daemon/base/concurrency/pause.ts';
import { errorText } from '../../daemon/base/errors.ts';
import { failpoint } from '../../daemon/base/failpoint.ts';
import { limits } from '../../daemon/base/limits.ts';
import type { Logger } from '../../daemon/base/logger.ts';
import { Rollback } from '../../daemon/base/rollback.ts';
import { keyChanged, type Cluster } from '../cluster/cluster.ts';
import type { Random } from '../objects/random.ts';
import { LEADER_KEY } from '../objects/values.ts';
import type { Fence, Leadership as Elected } from '../store/port.ts';
import { Leader } from './leader.ts';
import type { LeaderLoop, Leadership, Leading } from './ports.ts';

export interface LeadingDeps {
  clock: Clock;
  random: Random;
  logger: Logger;
  cluster: Cluster;
  nodeId: string;
  /** This manager for nodes and managers: `HOST:PORT`. */
  addr: string;
  /** What else a leader does. Started in this order, ended in the opposite one. */
  loops: readonly LeaderLoop[];
}

/** This manager wants to lead from now on, and does whenever it is elected, until it is disposed of. */
export function startLeading(deps: LeadingDeps): Leadership {
  return new Candidate(deps);
}

class Candidate implements Leadership {
  readonly #deps: LeadingDeps;
  readonly #closed = new AbortController();
  readonly #loop: Promise<void>;
  #leading: Leading | undefined;
  #resign: (() => void) | undefined;
  #isResigning = false;

  constructor(deps: LeadingDeps) {
    this.#deps = deps;
    this.#loop = this.#run();
  }

  get leading(): Leading | undefined {
    return this.#leading;
  }

  get leader(): { node: string; addr: string } | undefined {
    return leaderOf(this.#deps.cluster);
  }

  async resign(): Promise<void> {
    const { cluster, nodeId, clock } = this.#deps;
    if (this.#resign === undefined) {
      return;
    }
    this.#isResigning = true;
    this.#resign();
    const deadlineMs = clock.monotonicMs() + limits.swarmLeaderTtlMs;
    while (leaderOf(cluster)?.node === nodeId && clock.monotonicMs() < deadlineMs) {
      await pause(clock, limits.swarmStoreRetryMs, this.#closed.signal);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed.abort();
    this.#resign?.();
    await this.#loop;
  }

  /** Never rejects. */
  async #run(): Promise<void> {
    const { clock, logger } = this.#deps;
    let retryMs: number = limits.swarmStoreRetryMs;
    while (!this.#closed.signal.aborted) {
      try {
        const elected = await this.#elect();
        retryMs = limits.swarmStoreRetryMs;
        await this.#lead(elected);
      } catch (error) {
        if (this.#closed.signal.aborted) {
          return;
        }
        logger.warn({ error: errorText(error) }, 'this manager could not lead the swarm, it tries again');
        await pause(clock, retryMs, this.#closed.signal);
        retryMs = Math.min(retryMs * 2, limits.swarmStoreRetryMaxMs);
      }
      if (this.#isResigning) {
        this.#isResigning = false;
        await pause(clock, limits.swarmLeaderTtlMs, this.#closed.signal);
      }
    }
  }

  #elect(): Promise<Elected> {
    const { cluster, nodeId, addr } = this.#deps;
    return cluster.store.elect({
      key: LEADER_KEY,
      value: Buffer.from(JSON.stringify({ node: nodeId, addr })),
      ttlMs: limits.swarmLeaderTtlMs,
      signal: this.#closed.signal,
    });
  }

  async #lead(elected: Elected): Promise<void> {
    const { cluster, logger } = this.#deps;
    const given = new Promise<string>((resolve) => {
      this.#resign = () => resolve('resigned');
    });
    if (this.#closed.signal.aborted) {
      this.#resign?.();
    }
    using overtaken = whenOvertaken(cluster, elected.fence);
    const ended = Promise.race([elected.lost, given, overtaken.reason]);
    try {
      if (await this.#isCaughtUp(elected, ended)) {
        failpoint('swarm.leader.elected');
        logger.info({ revision: elected.fence.created }, 'this manager leads the swarm');
        const reason = await this.#work(elected, ended);
        logger.info({ reason }, 'this manager leads the swarm no more');
      }
    } finally {
      this.#resign = undefined;
      // Where the store does not hear it, the lease ends by itself.
      await elected.resign().catch((error: unknown) => {
        logger.debug(
          { error: errorText(error), at: cluster.revision },
          'the lease of the leader was not given back',
        );
      });
    }
  }

  /** Whether everything is here that earlier leaders wrote: the fence came after it. False where the lead was lost. */
  async #isCaughtUp({ fence }: Elected, ended: Promise<string>): Promise<boolean> {
    const { cluster } = this.#deps;
    const isOver = ended.then(() => true);
    while (!(await Promise.race([isOver, Promise.resolve(false)]))) {
      // It throws when that takes too long: then it is waited for again.
      const isReached = cluster.reached(fence.created).then(
        () => true,
        () => false,
      );
      if (await Promise.race([isReached, isOver.then(() => false)])) {
        return true;
      }
    }
    return false;
  }

  async #work({ fence }: Elected, ended: Promise<string>): Promise<string> {
    const { clock, random, logger, cluster, loops } = this.#deps;
    await using leader = new Leader({ clock, random, logger, cluster, fence });
    await using started = new Rollback(logger);
    for (const loop of loops) {
      const work = loop.start(leader);
      started.defer('end work of the leader', async () => work[Symbol.asyncDispose]());
    }
    this.#leading = leader;
    try {
      return await Promise.race([ended, leader.lost]);
    } finally {
      this.#leading = undefined;
      leader.stop();
    }
  }
}

/** Resolves when the key of a leadership is another's, or is no more: `overtake` may have deleted it. */
function whenOvertaken(cluster: Cluster, fence: Fence): Disposable & { reason: Promise<string> } {
  let subscription: Disposable | undefined;
  const reason = new Promise<string>((resolve) => {
    subscription = cluster.subscribeValues((changes) => {
      for (const change of changes) {
        const isOwn = change.kind === 'put' && change.entry.created === fence.created;
        const isLater = (change.kind === 'put' ? change.entry.revision : change.revision) > fence.created;
        if (keyChanged(change) === LEADER_KEY && !isOwn && isLater) {
          resolve('another manager took the lead over');
        }
      }
    });
  });
  return { reason, [Symbol.dispose]: () => subscription?.[Symbol.dispose]() };
}

/** The manager that leads, as far as the store is known here. */
export function leaderOf(cluster: Cluster): { node: string; addr: string } | undefined {
  const entry = cluster.value(LEADER_KEY);
  // Written by a candidate, as above.
  return entry && (JSON.parse(entry.value.toString()) as { node: string; addr: string });
}
