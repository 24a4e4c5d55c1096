import { renameSync } from 'node:fs';
import { errnoOf } from '../../../daemon/base/errors.ts';

/**
 * Takes a directory out of sight by one rename to `hidden`, so that a half-removed one is never taken for it, and
 * deletes its files behind the answer. Nothing there is no error. `failed` is told when files stay.
 */
export function removeBehind(
  directory: string,
  hidden: string,
  {
    move = renameSync,
    removeTree,
    failed,
  }: {
    move?: (directory: string, hidden: string) => void;
    removeTree: (path: string) => Promise<void>;
    failed: (error: unknown) => void;
  },
): void {
  try {
    move(directory, hidden);
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') {
      return;
    }
    throw error;
  }
  removeTree(hidden).catch(failed);
}
