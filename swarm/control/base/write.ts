import { isDeepStrictEqual } from 'node:util';
import type { Clock } from '../../../daemon/base/clock.ts';
import { failpoint } from '../../../daemon/base/failpoint.ts';
import { limits } from '../../../daemon/base/limits.ts';
import { becomesTrue } from '../../cluster/becomes-true.ts';
import type { Cluster, ClusterCommit } from '../../cluster/cluster.ts';
import { keyOf } from '../../objects/keys.ts';
import type { PartName } from '../../objects/parts.ts';
import type { Managers } from '../ports.ts';
import { isStoreError } from '../../store/errors.ts';
import { noLeader, outOfSequence } from './rpc-error.ts';

/** What an operation decided from what is here now, and what it answers once that is written. */
export interface Decision<T> extends Omit<ClusterCommit, 'fence'> {
  answer: T;
}

interface WriteDeps {
  cluster: Cluster;
  clock: Clock;
  managers: Managers;
}

interface Operation<T> {
  /** Decides on what is here, without a change of it. Called anew where something changed meanwhile. */
  decide(): Promise<Decision<T>> | Decision<T>;
  /** Times that it is decided; `limits.swarmWriteAttempts` where nothing is said. */
  attempts?: number;
}

/**
 * Decides and writes in one transaction. Where something else changed what was decided on it is decided anew, at most
 * `attempts` times; while the managers elect, for `limits.swarmWritePatienceMs`. Throws what `decide`
 * throws, `update out of sequence`, and where there is no majority the words for that.
 */
export async function write<T>(deps: WriteDeps, operation: Operation<T>): Promise<T> {
  const endMs = deps.clock.monotonicMs() + limits.swarmWritePatienceMs;
  let conflicts = 0;
  /** What was written, or not: its answer was lost. The conditions keep it from being written twice. */
  let lost: { answer: T; isWritten: () => boolean } | undefined;
  while (conflicts < (operation.attempts ?? limits.swarmWriteAttempts)) {
    if (lost?.isWritten() === true) {
      return lost.answer;
    }
    let decision: Decision<T>;
    try {
      decision = await operation.decide();
    } catch (error) {
      // What was written came to be known here meanwhile: decided on top of it, it may be out of sequence, or be there.
      if (lost?.isWritten() === true) {
        return lost.answer;
      }
      throw error;
    }
    const { answer, ...commit } = decision;
    failpoint('swarm.control.commit');
    try {
      const leftMs = Math.max(endMs - deps.clock.monotonicMs(), limits.swarmStoreRetryMs);
      await deps.cluster.commit({ ...commit, timeoutMs: Math.min(limits.swarmWriteAnswerMs, leftMs) });
      return answer;
    } catch (error) {
      if (isStoreError(error, 'conflict')) {
        conflicts += 1;
        await caughtUp(deps, commit);
      } else if (isStoreError(error, 'unavailable')) {
        await waitUntil(deps, endMs, error);
      } else if (isStoreError(error, 'unknown')) {
        lost = { answer, isWritten: () => isThere(deps.cluster, commit) };
        // At the end it is worth a look whether it stands after all.
        const isOver = deps.clock.monotonicMs() >= endMs;
        if (!isOver || !(await becomesTrue(deps.clock, lost.isWritten))) {
          await waitUntil(deps, endMs, error);
        }
      } else {
        throw error;
      }
    }
  }
  throw outOfSequence();
}

/** Whether the parts are as they were to be written; they name the moment, so that no other write is like it. */
function isThere(cluster: Cluster, { parts = [] }: Pick<ClusterCommit, 'parts'>): boolean {
  return (
    parts.length > 0 &&
    parts.every(({ part, id, value }) => isDeepStrictEqual(cluster.part(part, id) ?? null, value))
  );
}

/** There may be a majority again soon. Throws where that was waited for long enough. */
async function waitUntil(
  { clock, cluster, managers }: WriteDeps,
  endMs: number,
  error: unknown,
): Promise<void> {
  if (clock.monotonicMs() >= endMs) {
    const seen = managers.list().map(({ node, addr, reachability }) => {
      const name = cluster.state.nodes.get(node)?.description?.Hostname ?? node;
      return { name, addr, reachability };
    });
    throw noLeader(seen, error);
  }
  await new Promise<void>((resolve) => {
    clock.setTimeout(resolve, limits.swarmStoreRetryMs);
  });
}

/** The condition that a part is as it is here. */
export function unchanged(cluster: Cluster, part: PartName, id: string): { key: string; revision: number } {
  return { key: keyOf(part, id), revision: cluster.revisionOf(part, id) };
}

/**
 * Throws `update out of sequence` unless `version` is that of the part. A client may have read it from a manager that
 * is ahead of this one, which then waits for it.
 */
export async function checkVersion(
  deps: WriteDeps,
  version: number,
  part: PartName,
  id: string,
): Promise<void> {
  const { cluster } = deps;
  if (version > cluster.revision) {
    await becomesTrue(deps.clock, () => cluster.revision >= version);
  }
  if (cluster.revisionOf(part, id) !== version) {
    throw outOfSequence();
  }
}

/** The store has changed under the decision: the change is waited for, as this manager may hear of it later. */
async function caughtUp(deps: WriteDeps, { conditions }: Pick<ClusterCommit, 'conditions'>): Promise<void> {
  const { cluster } = deps;
  await becomesTrue(deps.clock, () =>
    conditions.some(({ key, revision }) => (cluster.version(key)?.revision ?? 0) !== revision),
  );
}
