import { readdirSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { errnoOf } from '../../daemon/base/errors.ts';
import { limits } from '../../daemon/base/limits.ts';

/**
 * Deletes a directory with a few entries through the thread pool; false when it has more, and then nothing is done.
 * Only for trees that no process can reach any more: directories are found by their path again and again.
 */
export async function removeSmallTree(path: string): Promise<boolean> {
  if (entriesOf(path, limits.smallTreeEntries) > limits.smallTreeEntries) {
    return false;
  }
  await rm(path, { recursive: true, force: true });
  return true;
}

/** Entries below a directory, counted no further than just past `max`; 0 when it is none. */
function entriesOf(path: string, max: number): number {
  let count = 0;
  try {
    for (const entry of readdirSync(path, { withFileTypes: true })) {
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
