import { MOUNT_DATA_BYTES_MAX } from '../../daemon/base/kernel/files/mounts.ts';

/** The directories of an overlay mount; `lowers` top layer first. Paths or other names of the same directories. */
export interface OverlayDirectories {
  lowers: readonly string[];
  upper: string;
  work: string;
}

/**
 * Options of an overlay that nothing can be written to. With an upper layer among `lowers` it shows what a container
 * sees, and needs no work directory.
 */
export function readOnlyOptions(lowers: readonly string[]): string {
  return `index=off,lowerdir=${lowers.join(':')}`;
}

/**
 * Option string of an overlay mount. `index=off`: an upper directory may be mounted again by the next daemon while the
 * kernel still holds the last mount of it, and layers are shared between containers anyway.
 */
export function overlayOptions({ lowers, upper, work }: OverlayDirectories): string {
  return `index=off,lowerdir=${lowers.join(':')},upperdir=${upper},workdir=${work}`;
}

/**
 * True when these names can stand in an option string: it fits into the kernel's one page, and no name holds a
 * character that the kernel takes for a separator or an escape.
 */
export function fitsAsNames(directories: OverlayDirectories): boolean {
  const names = [...directories.lowers, directories.upper, directories.work];
  return (
    names.every((name) => !/[\\,:"]/.test(name)) &&
    Buffer.byteLength(overlayOptions(directories)) <= MOUNT_DATA_BYTES_MAX
  );
}
