import type { BuildHistoryRow } from '../../../storage/database/rows.ts';

export interface RetentionBounds {
  /** So many of the newest stay at any age. */
  entriesMin: number;
  /** Others stay until this age. */
  ageMs: number;
  /** What all take together; the oldest go first. */
  bytesMax: number;
}

/** Names of builds that are remembered no longer, the oldest last. What is pinned stays. Pure. */
export function toForget(
  rows: readonly Omit<BuildHistoryRow, 'record'>[],
  { entriesMin, ageMs, bytesMax }: RetentionBounds,
  nowMs: number,
): string[] {
  const newestFirst = rows
    .filter(({ isPinned }) => !isPinned)
    .toSorted((a, b) => b.completedMs - a.completedMs || (a.ref < b.ref ? -1 : 1));
  let bytes = rows.reduce((sum, { isPinned, sizeBytes }) => sum + (isPinned ? sizeBytes : 0), 0);
  return newestFirst
    .filter(({ completedMs, sizeBytes }, position) => {
      bytes += sizeBytes;
      const isOld = position >= entriesMin && nowMs - completedMs > ageMs;
      return isOld || bytes > bytesMax;
    })
    .map(({ ref }) => ref);
}
