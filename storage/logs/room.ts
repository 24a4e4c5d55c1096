import { accessSync, constants, statfsSync } from 'node:fs';
import { dirname } from 'node:path';
import { errnoOf } from '../../daemon/base/errors.ts';

/** With less than this the next record may be refused; writers that compete for it come and go. */
const ROOM_BYTES_MIN = 1024 * 1024;

/** True while the disk of the log at `path` takes nothing, or will soon: it is full, or read-only. */
export function isLogDiskFull(path: string): boolean {
  const folder = dirname(path);
  try {
    const { bavail, bsize } = statfsSync(folder);
    if (bavail * bsize < ROOM_BYTES_MIN) {
      return true;
    }
    accessSync(folder, constants.W_OK);
    return false;
  } catch (error) {
    return errnoOf(error) === 'EROFS';
  }
}
