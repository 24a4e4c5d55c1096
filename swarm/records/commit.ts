import type { Clock } from '../../daemon/base/clock.ts';
import { pause } from '../../daemon/base/concurrency/pause.ts';
import { conflict, EngineError } from '../../daemon/base/errors.ts';
import { limits } from '../../daemon/base/limits.ts';
import { isStoreError, StoreError } from '../store/errors.ts';
import type { Commit, Entry, Store } from '../store/port.ts';

/** A commit with the texts of what it puts, by key, as they are before they are sealed. */
export interface SealedCommit extends Commit {
  texts: ReadonlyMap<string, string>;
}

/**
 * Commits until it is known what became of it, for as long as a call of the store takes. A commit whose answer was
 * lost is made again as it is: without conditions that changes nothing, and where a condition refuses it then, the
 * store says whether it was this commit that has changed the key. Answers its revision.
 *
 * @param open The text of a value that the store has.
 */
export async function commitUntilKnown(
  { clock, store }: { clock: Clock; store: Store },
  { texts, ...commit }: SealedCommit,
  open: (entry: Entry) => string,
): Promise<number> {
  const endMs = clock.monotonicMs() + limits.swarmStoreCallMs;
  const { signal } = new AbortController();
  let mayStand = false;
  for (;;) {
    try {
      const timeoutMs = Math.max(endMs - clock.monotonicMs(), limits.swarmStoreRetryMs);
      return await store.commit({ ...commit, timeoutMs });
    } catch (error) {
      const isLost = isStoreError(error, 'unknown');
      const own =
        mayStand && isStoreError(error, 'conflict')
          ? await ownRevision(store, { ...commit, texts }, open)
          : undefined;
      if (own !== undefined) {
        return own;
      }
      mayStand ||= isLost;
      if ((!isLost && !isStoreError(error, 'unavailable')) || clock.monotonicMs() >= endMs) {
        throw refusal(error, mayStand);
      }
    }
    await pause(clock, limits.swarmStoreRetryMs, signal);
  }
}

/** Where the store has all that a commit writes, and all puts from one revision: that revision. */
async function ownRevision(
  store: Store,
  { writes, texts }: SealedCommit,
  open: (entry: Entry) => string,
): Promise<number | undefined> {
  const revisions = new Set<number>();
  let newest = 0;
  for (const { kind, key } of writes) {
    const { entry, revision } = await read(store, key);
    newest = revision;
    const isAsWritten =
      kind === 'delete' ? entry === undefined : entry !== undefined && open(entry) === texts.get(key);
    if (!isAsWritten) {
      return undefined;
    }
    if (entry !== undefined) {
      revisions.add(entry.revision);
    }
  }
  return revisions.size <= 1 ? ([...revisions][0] ?? newest) : undefined;
}

async function read(store: Store, key: string): Promise<{ entry: Entry | undefined; revision: number }> {
  let revision = 0;
  for await (const page of store.view(key)) {
    revision = page.revision;
    const entry = page.entries.find((each) => each.key === key);
    if (entry !== undefined) {
      return { entry, revision };
    }
  }
  return { entry: undefined, revision };
}

/** What callers and clients are told. */
function refusal(error: unknown, mayStand: boolean): unknown {
  if (!(error instanceof StoreError)) {
    return error;
  }
  switch (error.failure) {
    case 'conflict':
      return conflict('a record was changed meanwhile', { cause: error });
    case 'fenced':
      return new EngineError('failed_precondition', 'another manager was elected', { cause: error });
    case 'unavailable':
    case 'unknown':
      return new EngineError(
        'unavailable',
        mayStand
          ? 'the managers of the swarm do not answer: whether this change was made shows when they do again'
          : 'the managers of the swarm have no majority: nothing can be changed until they do',
        { cause: error },
      );
    case 'compacted':
    case 'full':
    case 'canceled':
    case 'refused':
      break;
  }
  return error;
}
