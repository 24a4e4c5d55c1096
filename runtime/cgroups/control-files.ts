import { readFileSync, writeFileSync, closeSync, openSync, readSync } from 'node:fs';
import { errnoOf } from '../../daemon/base/errors.ts';

/** The longest files read this way (memory.stat, net/dev) have a few kilobytes; more would be read in pieces. */
const shared = Buffer.allocUnsafe(64 * 1024);

/** Contents of a control file; undefined when it, or its cgroup, is not there (any more). */
export function readControl(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if (isGone(error)) {
      return undefined;
    }
    throw error;
  }
}

/** Writes a control file; false when it, or its cgroup, is not there (any more). */
export function writeControl(file: string, text: string): boolean {
  try {
    // Never create: a missing file means that this kernel or hierarchy has none.
    writeFileSync(file, text, { flag: 'r+' });
    return true;
  } catch (error) {
    if (isGone(error)) {
      return false;
    }
    throw error;
  }
}

/** ENODEV: the cgroup was removed while its file was open. */
export function isGone(error: unknown): boolean {
  return ['ENOENT', 'ENODEV', 'ENOTDIR'].includes(errnoOf(error) ?? '');
}

/**
 * Text of a small file of the kernel, up to 64 KiB; undefined when it is not there, or what it tells of has ended. A
 * third of the time of `readFileSync`, which asks for the size first and allocates: a hundred containers have a
 * thousand of these each second.
 */
export function readSmall(file: string): string | undefined {
  let fd: number;
  try {
    fd = openSync(file, 'r');
  } catch (error) {
    if (isAbsent(error)) {
      return undefined;
    }
    throw error;
  }
  try {
    return shared.toString('latin1', 0, readSync(fd, shared, 0, shared.length, 0));
  } catch (error) {
    if (isAbsent(error)) {
      return undefined;
    }
    throw error;
  } finally {
    closeSync(fd);
  }
}

/** EINVAL: /proc/<pid>/net of a process without a namespace any more. EOPNOTSUPP: not at this cgroup. */
function isAbsent(error: unknown): boolean {
  return ['ENOENT', 'ENODEV', 'ESRCH', 'EINVAL', 'EOPNOTSUPP', 'ENOTSUP'].includes(errnoOf(error) ?? '');
}
