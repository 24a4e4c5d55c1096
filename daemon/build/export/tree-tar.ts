import type { Readable } from 'node:stream';
import { openReadRoot } from '../../../storage/contexts/roots.ts';
import type { FileTime } from '../../base/kernel/file-status.ts';
import { withResolvers } from '../../base/concurrency/with-resolvers.ts';
import { failpoint } from '../../base/failpoint.ts';
import type { ExportDeps } from './ports.ts';

/**
 * The files of layers on top of each other as a tar without a folder of its own in front, for as long as `use` lasts.
 * What upper layers deleted is not in it. `mtime`: of all files, in place of their own.
 */
export async function withTreeTar<T>(
  deps: ExportDeps,
  { layerIds, mtime }: { layerIds: readonly number[]; mtime: FileTime | undefined },
  use: (tar: Readable) => Promise<T>,
): Promise<T> {
  failpoint('build.export.tree');
  await using read = await openReadRoot(deps, deps.layers.lowers(layerIds));
  const { view } = read;
  const { promise: released, resolve } = withResolvers<undefined>();
  const tar = deps.archives.tar({ view, handle: { fd: view.root, path: '' }, ...(mtime && { mtime }) }, () =>
    resolve(undefined),
  );
  try {
    return await use(tar);
  } finally {
    tar.destroy();
    // The thread reads by descriptors of ours.
    await released;
  }
}
