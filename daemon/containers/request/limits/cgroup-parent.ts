import type { CgroupDriver } from '../../../../runtime/cgroups/detect.ts';
import { isSliceName } from '../../../../runtime/cgroups/paths.ts';
import { invalidArgument } from '../../../base/errors.ts';

/** Bytes of one name in a path (NAME_MAX of the kernel). */
const NAME_MAX = 255;

/**
 * Checks the cgroup that is to hold a container's: a path below the root of each hierarchy (relative ones start there
 * too, where the init process is, and none leads above it), or the name of a slice for systemd. Answers it as given:
 * that is what inspect shows. `field` is for the message. Throws invalid_argument with dockerd's text.
 */
export function checkCgroupParent(parent: string, driver: CgroupDriver, field: string): string {
  if (parent === '') {
    return parent;
  }
  if (driver === 'systemd') {
    if (!isSliceName(parent)) {
      throw invalidArgument(
        `cgroup-parent for systemd cgroup should be a valid slice named as "xxx.slice": ${field} ${parent}`,
      );
    }
    return parent;
  }
  if (parent.split('/').some((name) => Buffer.byteLength(name) > NAME_MAX || name.includes('\n'))) {
    throw invalidArgument(`invalid ${field}: ${parent.slice(0, NAME_MAX)}: not a path of cgroups`);
  }
  return parent;
}
