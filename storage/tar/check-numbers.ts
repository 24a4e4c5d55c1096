import { invalidArgument } from '../../daemon/base/errors.ts';
import { showName } from './names.ts';
import type { TarMember } from './parser.ts';

/** uid and gid -1 mean "unchanged" to chown(2). */
const OWNER_MAX = 0xffff_fffe;
const DEVICE_MAJOR_MAX = 0xfff;
const DEVICE_MINOR_MAX = 0xf_ffff;

/** Throws invalid_argument, naming the entry, for an owner or a device that no file can have, or that means another. */
export function checkNumbers({ name, type, uid, gid, major, minor }: TarMember): void {
  if (uid > OWNER_MAX || gid > OWNER_MAX) {
    throw invalidArgument(`${where(name)}: owner ${uid}:${gid} is out of range`);
  }
  if (type !== 'character' && type !== 'block') {
    return;
  }
  if (!(major >= 0 && major <= DEVICE_MAJOR_MAX && minor >= 0 && minor <= DEVICE_MINOR_MAX)) {
    throw invalidArgument(`${where(name)}: device ${major}:${minor} is out of range`);
  }
  if (type === 'character' && major === 0 && minor === 0) {
    // overlayfs hides a file by this device; a tar does so by a name (`.wh.`), and no real image has the device.
    throw invalidArgument(`${where(name)}: character device 0:0 would hide the files of layers below`);
  }
}

function where(name: string): string {
  return `entry ${showName(name)}`;
}
