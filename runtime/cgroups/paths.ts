import { join } from 'node:path';
import { unreachable } from '../../daemon/base/errors.ts';
import type { CgroupDriver, CgroupLayout } from './detect.ts';

/** First part of the scope names under the systemd driver: `berth-<id>.scope`. */
const SCOPE_PREFIX = 'berth';
/** Characters of a unit's name (systemd.unit(5)). */
const UNIT_NAME_MAX = 255;

/** `linux.cgroupsPath` of a container's spec: a path below `parent`, or `slice:prefix:id` for systemd. */
export function cgroupsPathOf(driver: CgroupDriver, parent: string, id: string): string {
  switch (driver) {
    case 'cgroupfs':
      return join('/', parent, id);
    case 'systemd':
      return `${parent}:${SCOPE_PREFIX}:${id}`;
    default:
      return unreachable(driver);
  }
}

/**
 * True for the name of a slice that can hold containers: `foo.slice`, `foo-bar.slice` (inside the first one). systemd's
 * rules (systemd.slice(5), systemd.unit(5)), without `-.slice`, which is the root itself.
 */
export function isSliceName(name: string): boolean {
  // The colon is a letter to systemd, but separates the parts of a spec's cgroupsPath.
  return /^[A-Za-z0-9_.\\@]+(-[A-Za-z0-9_.\\@]+)*\.slice$/.test(name) && name.length <= UNIT_NAME_MAX;
}

/** The id in the name of a container's cgroup directory, or undefined when it is not one of ours. */
export function idOfCgroup(driver: CgroupDriver, name: string): string | undefined {
  const pattern = driver === 'systemd' ? /^berth-([0-9a-f]{64})\.scope$/ : /^([0-9a-f]{64})$/;
  return pattern.exec(name)?.[1];
}

/** Path below each hierarchy's mount point of what a spec's `cgroupsPath` names, as runc makes it. */
export function relativeCgroup(driver: CgroupDriver, cgroupsPath: string): string {
  switch (driver) {
    case 'cgroupfs':
      return join('/', cgroupsPath);
    case 'systemd': {
      const [slice = '', prefix = '', id = ''] = cgroupsPath.split(':');
      return join(expandSlice(slice === '' ? 'system.slice' : slice), `${prefix}-${id}.scope`);
    }
    default:
      return unreachable(driver);
  }
}

/** Path of the directory that holds the containers of `parent`. */
export function relativeParent(driver: CgroupDriver, parent: string): string {
  return driver === 'systemd' ? expandSlice(parent) : join('/', parent);
}

/** Directories of one cgroup in all hierarchies of the host. Existing or not. */
export function cgroupDirectories(layout: CgroupLayout, relative: string): string[] {
  const mountPoints = new Set(layout.controllers.values());
  if (layout.unified !== null) {
    mountPoints.add(layout.unified);
  }
  return [...mountPoints].map((mountPoint) => join(mountPoint, relative));
}

/** systemd.slice(5): `a-b.slice` lies in `a.slice`; `-.slice` is the root. */
function expandSlice(slice: string): string {
  const parts = slice
    .replace(/\.slice$/, '')
    .split('-')
    .filter((part) => part !== '');
  return join('/', ...parts.map((_part, index) => `${parts.slice(0, index + 1).join('-')}.slice`));
}
