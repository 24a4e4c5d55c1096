/** What the store looked like at a time of the monotonic clock. */
export interface RevisionSample {
  atMs: number;
  revision: number;
}

/** A watch whose connection was away for less finds its changes still there. */
const KEPT_MS = 10 * 60_000;
/** Each revision is a few hundred bytes of the file: about 25 MB of tasks. */
const KEPT_REVISIONS = 50_000;
const DEFRAGMENT_BYTES_MIN = 100 * 1024 * 1024;
const DEFRAGMENT_USED_MAX = 0.5;

/**
 * The revision to compact to; undefined = nothing to forget. Ten minutes are kept, or 50,000 revisions where more came,
 * and always what the slowest cache of any manager has not seen.
 */
export function compactionTarget(
  samples: readonly RevisionSample[],
  now: RevisionSample & { slowest: number; compactedTo: number },
): number | undefined {
  const old = samples.findLast(({ atMs }) => now.atMs - atMs >= KEPT_MS)?.revision ?? 0;
  const target = Math.min(Math.max(old, now.revision - KEPT_REVISIONS), now.slowest);
  return target > now.compactedTo ? target : undefined;
}

/** The samples that later decisions need: the newest one that is old enough, and all after it. */
export function keptSamples(samples: readonly RevisionSample[], nowMs: number): RevisionSample[] {
  const first = samples.findLastIndex(({ atMs }) => nowMs - atMs >= KEPT_MS);
  return samples.slice(Math.max(first, 0));
}

/** Whether a member's file has enough free room in it to be worth the pause. */
export function isWorthDefragmenting({
  fileBytes,
  usedBytes,
}: {
  fileBytes: number;
  usedBytes: number;
}): boolean {
  return fileBytes > DEFRAGMENT_BYTES_MIN && usedBytes < fileBytes * DEFRAGMENT_USED_MAX;
}
