import {
  closeSync,
  existsSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
  createReadStream,
  createWriteStream,
} from 'node:fs';
import { failpoint } from '../../daemon/base/failpoint.ts';
import { addToEnd } from './mend.ts';
import { oldestPinned } from './pins.ts';
import type { RotationPolicy } from './policy.ts';
import { surplusFiles } from './retention.ts';
import type { RotatedUsers } from './retention.ts';
import { draftPath, hasCurrent, listSegments, rotatedPath } from './segments.ts';
import { open, stat, utimes } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';

/** Bytes of the current file; 0 when there is none. */
export function currentBytes(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

/**
 * Puts the current file aside. The draft that the monitor will rename is made first: on a full disk that fails here,
 * harmlessly, while a monitor that cannot make its file ends, and its container with it. The caller makes the monitor
 * go on (`reopenLog`), now or after a crash.
 */
export function putAside(path: string): void {
  failpoint('logs.rotate.draft');
  closeSync(openSync(draftPath(path), 'w', 0o600));
  const { generation } = listSegments(path).at(-1) ?? { generation: 1 };
  failpoint('logs.rotate.rename');
  renameSync(path, rotatedPath(path, generation));
}

/**
 * Notes in a log that was cut off where that was, once: for its readers and for the receiver of its delivery. Call it
 * before the monitor goes on in another file, so that a follower that leaves this one has read it. True when it was cut
 * off.
 */
export function markCut(path: string, stopAt: number | null): boolean {
  // Between a rotation and the monitor's new file it still writes to the one that was put aside.
  const written = listSegments(path).findLast(({ path: file }) => existsSync(file))?.path;
  // What is longer has its mark; until it is rotated the monitor cannot add to it.
  if (stopAt === null || written === undefined || currentBytes(written) !== stopAt) {
    return false;
  }
  const time = new Date().toISOString().replace('Z', '000000+00:00');
  const text = `berth: output is missing here: the log grew to ${stopAt} bytes before it was rotated`;
  failpoint('logs.rotate.mark');
  // The last record was cut off, too.
  addToEnd(written, `${time} stderr F ${text}\n`);
  return true;
}

/** A rotation was begun: the monitor, if there is one, has not made its new file. */
export function isHalfRotated(path: string): boolean {
  return !hasCurrent(path) && listSegments(path).length > 1;
}

/** Removes rotated files that are kept no longer; answers how many of their bytes were never delivered. */
export function dropOld(
  path: string,
  policy: RotationPolicy,
  users: Pick<RotatedUsers, 'delivery'>,
): { lostGenerations: number[] } {
  const rotated = listSegments(path)
    .filter(({ kind }) => kind !== 'current')
    .map((segment) => ({ ...segment, bytes: currentBytes(segment.path) }));
  const reader = oldestPinned(path);
  const gone = surplusFiles(rotated, policy, { ...users, ...(reader !== undefined && { reader }) });
  const lostGenerations: number[] = [];
  for (const { generation } of gone) {
    const file = rotated.find((one) => one.generation === generation);
    if (file !== undefined) {
      failpoint('logs.rotate.remove');
      rmSync(file.path, { force: true });
    }
    if (generation >= (users.delivery ?? Infinity)) {
      lostGenerations.push(generation);
    }
  }
  return { lostGenerations };
}

/** Compresses the rotated files that no follower reads and no delivery needs any more. */
export async function compressOld(path: string, users: Pick<RotatedUsers, 'delivery'>): Promise<void> {
  const needed = Math.min(oldestPinned(path) ?? Infinity, users.delivery ?? Infinity);
  for (const { kind, generation, path: file } of listSegments(path)) {
    if (kind === 'rotated' && generation < needed) {
      failpoint('logs.compress.begin');
      await compressFile(file);
    }
  }
}

/**
 * Replaces a file by `<file>.gz`, on pool threads. Killed anywhere it leaves the file or its whole replacement; what is
 * half-made is removed by `removeDrafts`. Rejects, with the file as it was, when the disk is full.
 */
async function compressFile(path: string): Promise<void> {
  const draft = `${path}.gz.tmp`;
  const { atime, mtime } = await stat(path);
  try {
    await pipeline(createReadStream(path), createGzip(), createWriteStream(draft, { mode: 0o600 }));
    await using file = await open(draft, 'r+');
    // A power cut must not leave the name of a file that was never written.
    await file.sync();
    // Reading by time goes by when a file was finished.
    await utimes(draft, atime, mtime);
  } catch (error) {
    rmSync(draft, { force: true });
    throw error;
  }
  failpoint('logs.compress.rename');
  renameSync(draft, `${path}.gz`);
  failpoint('logs.compress.remove');
  rmSync(path, { force: true });
}
