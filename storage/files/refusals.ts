import { EngineError, invalidArgument } from '../../daemon/base/errors.ts';
import { isOfKernel } from '../../daemon/base/kernel/files/files.ts';
import { showName } from '../tar/names.ts';
import type { PathHandle } from './path-handle.ts';
import type { FilesView } from './view.ts';

/** Throws dockerd's texts unless `point` can be extracted to. */
export function refuseExtractionPoint(point: PathHandle): void {
  if (!point.status.isDirectory) {
    throw invalidArgument('extraction point is not a directory');
  }
  refuseReadOnly(point);
  if (isOfKernel(point.fd)) {
    throw invalidArgument(
      `${showName(point.path)} is a file system of the kernel: nothing can be copied into it`,
    );
  }
}

export function refuseReadOnly(handle: PathHandle): void {
  if (handle.isReadOnly) {
    const what = handle.isMounted
      ? 'mounted volume is marked read-only'
      : 'container rootfs is marked read-only';
    throw new EngineError('forbidden', what);
  }
}

/** Neither itself nor what lies in it may be mounted. */
export function refuseMountPoint(view: FilesView, existing: PathHandle): void {
  if (view.mounts.some(({ path }) => path === existing.path || path.startsWith(`${existing.path}/`))) {
    throw new EngineError(
      'conflict',
      `${showName(existing.path)}: device or resource busy (it is a mount point)`,
    );
  }
}
