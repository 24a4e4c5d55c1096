import { invalidArgument } from '../../../base/errors.ts';
import { problemOfDestination } from '../container-path.ts';
import { sortByDepth } from './mount-points.ts';
import type { BindMount, ResolvedMount } from './resolved-mount.ts';

/** A file or directory of the host that a container sees, and that its inspection does not show. */
export interface HiddenFile {
  source: string;
  /** Absolute, in the container. */
  target: string;
  /** Absent = it is read only. */
  isWritable?: boolean;
}

/** Throws invalid_argument where two things are to be at one place, or something where nothing can be. Pure. */
export function withHiddenFiles(
  mounts: readonly ResolvedMount[],
  files: readonly HiddenFile[],
): ResolvedMount[] {
  const taken = new Set(mounts.map(({ destination }) => destination));
  const hidden = files.map(({ source, target, isWritable = false }): BindMount => {
    const problem = problemOfDestination(target);
    if (problem !== undefined) {
      throw invalidArgument(problem);
    }
    if (taken.has(target)) {
      throw invalidArgument(`Duplicate mount point: ${target}`);
    }
    taken.add(target);
    return {
      type: 'bind',
      source,
      destination: target,
      mode: '',
      rw: isWritable,
      propagation: 'rprivate',
      createMountpoint: false,
      nonRecursive: true,
      readOnlyDepth: 'top',
      isHidden: true,
    };
  });
  return sortByDepth([...mounts, ...hidden]);
}
