import type { Clock } from '../../../daemon/base/clock.ts';
import { failpoint } from '../../../daemon/base/failpoint.ts';
import { limits } from '../../../daemon/base/limits.ts';
import type { Cluster, ClusterCommit } from '../../cluster/cluster.ts';
import { keyOf } from '../../objects/keys.ts';
import type { PartName } from '../../objects/parts.ts';
import { isStoreError } from '../../store/errors.ts';
import { noLeader, outOfSequence } from './rpc-error.ts';

/** What an operation decided from what is here now, and what it answers once that is written. */
export interface Decision<T> extends Omit<ClusterCommit, 'fence'> {
  answer: T;
}

interface Deps {
  cluster: Cluster;
  clock: Clock;
}

interface Operation<T> {
  /** Decides on what is here, without a change of it. Called anew where something changed meanwhile. */
  decide(): Promise<Decision<T>> | Decision<T>;
  /** Whether it can be seen that the write was taken, for one whose answer was lost. */
  isWritten?(): boolean;
}

/**
 * Decides and writes in one transaction. Where something else changed what was decided on it is decided anew, at most
 * `limits.swarmWriteAttempts` times. Throws what `decide` throws, `update out of sequence`, and where there is no
 * majority the words for that.
 */
export async function write<T>(deps: Deps, operation: Operation<T>): Promise<T> {
  for (let attempt = 0; attempt < limits.swarmWriteAttempts; attempt += 1) {
    const { answer, ...commit } = await operation.decide();
    failpoint('swarm.control.commit');
    try {
      await deps.cluster.commit(commit);
      return answer;
    } catch (error) {
      if (isStoreError(error, 'conflict')) {
        await caughtUp(deps, commit);
        continue;
      }
      if (
        isStoreError(error, 'unknown') &&
        (await becomesTrue(deps, () => operation.isWritten?.() ?? false))
      ) {
        return answer;
      }
      throw isStoreError(error, 'unavailable') || isStoreError(error, 'unknown') ? noLeader(error) : error;
    }
  }
  throw outOfSequence();
}

/** The condition that a part is as it is here. */
export function unchanged(cluster: Cluster, part: PartName, id: string): { key: string; revision: number } {
  return { key: keyOf(part, id), revision: cluster.revisionOf(part, id) };
}

/**
 * Throws `update out of sequence` unless `version` is that of the part. A client may have read it from a manager that
 * is ahead of this one, which then waits for it.
 */
export async function checkVersion(deps: Deps, version: number, part: PartName, id: string): Promise<void> {
  const { cluster } = deps;
  if (version > cluster.revision) {
    await becomesTrue(deps, () => cluster.revision >= version);
  }
  if (cluster.revisionOf(part, id) !== version) {
    throw outOfSequence();
  }
}

/** The store has changed under the decision: the change is waited for, as this manager may hear of it later. */
async function caughtUp(deps: Deps, { conditions }: Pick<ClusterCommit, 'conditions'>): Promise<void> {
  const { cluster } = deps;
  await becomesTrue(deps, () =>
    conditions.some(({ key, revision }) => (cluster.value(key)?.revision ?? 0) !== revision),
  );
}

/** Whether it became true in `limits.swarmCatchUpMs`. */
async function becomesTrue({ clock }: Deps, holds: () => boolean): Promise<boolean> {
  const endMs = clock.monotonicMs() + limits.swarmCatchUpMs;
  while (!holds()) {
    if (clock.monotonicMs() >= endMs) {
      return false;
    }
    await new Promise<void>((resolve) => {
      clock.setTimeout(resolve, limits.swarmCatchUpStepMs);
    });
  }
  return true;
}
