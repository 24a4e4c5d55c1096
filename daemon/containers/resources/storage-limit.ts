import { EngineError, isEngineError } from '../../base/errors.ts';
import type { Container } from '../state/container.ts';
import type { ContainerContext } from '../context.ts';
import type { RootfsStore } from '../ports.ts';
import type { NormalHostConfig } from '../request/container-spec.ts';
import { storageLimit } from '../request/limits/storage-options.ts';

/**
 * `StorageOpt.size` in force, at creation and, for a disk that was mounted otherwise or restored from a copy, at each
 * start: rather no container than one that fills the disk. Throws invalid_argument that names the field.
 */
export async function limitStorage(
  rootfs: RootfsStore,
  id: string,
  { StorageOpt: options = {} }: Pick<NormalHostConfig, 'StorageOpt'>,
): Promise<void> {
  const bytes = storageLimit(options ?? {});
  if (bytes === 0) {
    return;
  }
  try {
    await rootfs.limit(id, bytes);
  } catch (error) {
    throw isEngineError(error)
      ? new EngineError(error.code, `StorageOpt ${JSON.stringify(options)}: ${error.message}`)
      : error;
  }
}

/** Whether the file system counts what the container writes: in its own layer, or in a volume. */
export function hasQuota({ volumes }: Pick<ContainerContext, 'volumes'>, { spec }: Container): boolean {
  return (
    storageLimit(spec.hostConfig.StorageOpt ?? {}) > 0 ||
    spec.mounts.some((mount) => mount.type === 'volume' && volumes.isLimited(mount.name))
  );
}
