import { realpathSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { errnoOf } from '../../base/errors.ts';

/**
 * The path without symbolic links, also when the end of it does not exist yet. The kernel tells mounts by their real
 * paths, so ours have to be those.
 */
export function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch (error) {
    if (errnoOf(error) !== 'ENOENT' || dirname(path) === path) {
      throw error;
    }
    return join(realPath(dirname(path)), basename(path));
  }
}
