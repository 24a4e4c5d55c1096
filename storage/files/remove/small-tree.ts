import { readdirSync } from 'node:fs';
import type { Dirent } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { errnoOf } from '../../../daemon/base/errors.ts';
import { isMountPointAt } from '../../../daemon/base/kernel/files/files.ts';
import { openRoot } from '../../../daemon/base/kernel/files/safepath.ts';
import { limits } from '../../../daemon/base/limits.ts';

/**
 * Deletes a directory with a few entries through the thread pool; false when it has more, when something is mounted in
 * it, or when something is left.
 * Only for trees that no process can reach any more: directories are found by their path again and again.
 */
export async function removeSmallTree(path: string): Promise<boolean> {
  if (entriesOf(path, limits.smallTreeEntries) > limits.smallTreeEntries) {
    return false;
  }
  try {
    await rm(path, { recursive: true, force: true });
    return true;
  } catch {
    // A thread tries harder (files that are immutable), and says what it is that stays.
    return false;
  }
}

/**
 * Entries below a directory, counted no further than just past `max`; 0 when it is none. Without end where something is
 * mounted: that belongs to others.
 */
function entriesOf(path: string, max: number): number {
  let count = 0;
  try {
    const entries = readdirSync(path, { withFileTypes: true });
    if (hasMount(path, entries)) {
      return Number.POSITIVE_INFINITY;
    }
    for (const entry of entries) {
      count += 1;
      if (count > max) {
        return count;
      }
      count += entry.isDirectory() ? entriesOf(join(path, entry.name), max - count) : 0;
    }
  } catch (error) {
    if (errnoOf(error) !== 'ENOENT' && errnoOf(error) !== 'ENOTDIR') {
      throw error;
    }
  }
  return count;
}

function hasMount(path: string, entries: readonly Dirent[]): boolean {
  const directories = entries.filter((entry) => entry.isDirectory());
  if (directories.length === 0) {
    return false;
  }
  using opened = openRoot(path);
  return directories.some(({ name }) => isMountPointAt(opened.fd, Buffer.from(name).toString('latin1')));
}
