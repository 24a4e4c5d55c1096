import { readFileSync, writeFileSync } from 'node:fs';
import { errnoOf } from '../../daemon/base/errors.ts';

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
