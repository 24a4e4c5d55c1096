import type { Clock } from '../../daemon/base/clock.ts';
import { pause } from '../../daemon/base/concurrency/pause.ts';
import { errorText } from '../../daemon/base/errors.ts';
import { failpoint } from '../../daemon/base/failpoint.ts';
import { limits } from '../../daemon/base/limits.ts';
import type { Logger } from '../../daemon/base/logger.ts';
import type { Cluster } from '../cluster/cluster.ts';
import { LEADER_KEY } from '../objects/values.ts';
import { leaderOf } from './start-leading.ts';

interface Deps {
  clock: Clock;
  logger: Logger;
  cluster: Cluster;
  nodeId: string;
  /** The member of the store that leads the others, by the own member; undefined while none does, or none answers. */
  storeLeader: () => Promise<string | undefined>;
  /** Whether a manager says within `limits.swarmLeaderAnswerMs` that it and its member of the store are there. */
  answers: (addr: string) => Promise<boolean>;
}

/**
 * Takes the lead from a manager that went together with the member of the store that led the others. Such a loss is the
 * slow one: the members elect first, and then give all leases a full life and a second. So each manager looks which
 * member leads; when that has become another one, and the leader of the swarm does not answer, it deletes the leader's
 * key, as it is known here. The leader that is meant needs no trust for it: each of its writes carries its fence.
 */
export function startOvertaking(deps: Deps): AsyncDisposable {
  const ended = new AbortController();
  const loop = run(deps, ended.signal);
  return {
    [Symbol.asyncDispose]: async () => {
      ended.abort();
      await loop;
    },
  };
}

/** Never rejects. */
async function run(deps: Deps, signal: AbortSignal): Promise<void> {
  const { clock, logger } = deps;
  let known: string | undefined;
  while (!signal.aborted) {
    const now = await deps.storeLeader().catch(() => {
      // The own member is away: there is nothing to see.
      return undefined;
    });
    const isOther = known !== undefined && now !== undefined && now !== known;
    known = now ?? known;
    if (isOther && !signal.aborted) {
      await overtake(deps).catch((error: unknown) => {
        // Its lease ends by itself.
        logger.info({ error: errorText(error) }, 'the lead of the swarm was not taken over');
      });
    }
    await pause(clock, limits.swarmStoreLeaderLookMs, signal);
  }
}

async function overtake({ cluster, nodeId, logger, answers }: Deps): Promise<void> {
  const leader = leaderOf(cluster);
  const revision = cluster.value(LEADER_KEY)?.revision;
  if (leader === undefined || revision === undefined || leader.node === nodeId) {
    return;
  }
  if (await answers(leader.addr)) {
    return;
  }
  failpoint('swarm.leader.overtake');
  await cluster.commit({
    conditions: [{ key: LEADER_KEY, revision }],
    values: [{ kind: 'delete', key: LEADER_KEY }],
    timeoutMs: limits.swarmWriteAnswerMs,
  });
  logger.info({ leader: leader.node }, 'the leader of the swarm was lost with the leader of the store');
}
