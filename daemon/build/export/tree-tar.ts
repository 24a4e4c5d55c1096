import type { Readable } from 'node:stream';
import { openReadRoot } from '../../../storage/contexts/roots.ts';
import { TAR_END } from '../../../storage/tar/encode.ts';
import { withResolvers } from '../../base/concurrency/with-resolvers.ts';
import { failpoint } from '../../base/failpoint.ts';
import type { FileTime } from '../../base/kernel/files/file-status.ts';
import type { ExportDeps } from './ports.ts';

/** Files of layers on top of each other. */
export interface TarredTree {
  layerIds: readonly number[];
  /** The folder that they are in; undefined = names without anything in front. */
  folder: string | undefined;
  /** Of all files, in place of their own. */
  mtime: FileTime | undefined;
  /** A directory of ours, whose files are on top; undefined = there is none. */
  top?: string | undefined;
}

/**
 * One tar of trees, one after the other, each opened when its turn comes. What upper layers deleted is not in it. Who
 * stops reading gives all of it back.
 */
export async function* treesTar(deps: ExportDeps, trees: readonly TarredTree[]): AsyncGenerator<Buffer> {
  for (const [position, tree] of trees.entries()) {
    if (position === trees.length - 1) {
      yield* treeTar(deps, tree);
    } else {
      yield* withoutEnd(treeTar(deps, tree));
    }
  }
}

/** The end of one tar is no end of all of them. */
async function* withoutEnd(tar: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let held: Buffer = Buffer.alloc(0);
  for await (const piece of tar) {
    const bytes = Buffer.concat([held, piece]);
    const ready = Math.max(0, bytes.length - TAR_END.length);
    yield bytes.subarray(0, ready);
    held = bytes.subarray(ready);
  }
}

async function* treeTar(
  deps: ExportDeps,
  { layerIds, folder, mtime, top }: TarredTree,
): AsyncGenerator<Buffer> {
  failpoint('build.export.tree');
  const lowers = deps.layers.lowers(layerIds);
  await using read = await openReadRoot(deps, top === undefined ? lowers : [top, ...lowers]);
  const { view } = read;
  const { promise: released, resolve } = withResolvers<undefined>();
  const tar: Readable = deps.archives.tar(
    {
      view,
      handle: { fd: view.root, path: '' },
      ...(folder !== undefined && { name: folder }),
      ...(mtime && { mtime }),
    },
    () => resolve(undefined),
  );
  try {
    // Nobody sets an encoding: its pieces are Buffers.
    yield* tar as AsyncIterable<Buffer>;
  } finally {
    tar.destroy();
    // The thread reads by descriptors of ours.
    await released;
  }
}
