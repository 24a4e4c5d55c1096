import { fstatSync } from 'node:fs';
import { changeMode, changeOwner } from './files.ts';

const MODE_BITS = 0o7777;

/**
 * Makes an open file have this owner and these permission bits, set-user-id and the like too. Looking costs nothing, a
 * change goes through the journal of the disk. The owner first: changing it drops set-user-id bits and capabilities.
 */
export function setOwnerAndMode(
  fd: number,
  { uid, gid, mode }: { uid: number; gid: number; mode: number },
): void {
  const now = fstatSync(fd);
  const isOwned = now.uid === uid && now.gid === gid;
  if (!isOwned) {
    changeOwner(fd, uid, gid);
  }
  if (!isOwned || (now.mode & MODE_BITS) !== mode) {
    changeMode(fd, mode);
  }
}
