import type { BuildSession, SendTarget } from '../../../api/types/build/session.ts';
import { formatPlatform } from '../../../storage/image/platform.ts';
import { notImplemented } from '../../base/errors.ts';
import { failpoint } from '../../base/failpoint.ts';
import type { Vertex, Vertices } from '../control/vertices.ts';
import type { ExportedImage } from './exported-image.ts';
import type { ExportDeps } from './ports.ts';
import { sendFiles } from './send-files.ts';
import { placeStatements, type StatementFiles } from './statement-files.ts';
import type { FilesOutput } from './read-outputs.ts';
import { treesTar, type TarredTree } from './tree-tar.ts';

export interface ExportTo {
  session: BuildSession;
  target: SendTarget;
  vertices: Vertices;
  signal: AbortSignal;
}

/** Gives the files of images to the client, which makes them in a directory of its user's, or keeps their tar. */
export async function exportFiles(
  deps: ExportDeps,
  images: readonly ExportedImage[],
  { kind, isSplit }: FilesOutput,
  { session, target, vertices, signal }: ExportTo,
): Promise<void> {
  const name = kind === 'local' ? 'exporting to client directory' : 'exporting to client tarball';
  await vertices.run(name, async (vertex) => {
    await using placed = await placedTrees(deps, treesOf(images, isSplit), signal);
    const tar = treesTar(deps, placed.trees);
    if (kind === 'tar') {
      await sendTarball({ session, target, signal }, tar, vertex);
      return;
    }
    await using sending = session.sendFiles(target, signal);
    let bytes = 0;
    const sent = (current: number): void => {
      bytes = current;
      vertex.progress('copying files', { current });
    };
    await sendFiles(deps.spools, { tar, sending }, { signal, sent });
    vertex.progress('copying files', { current: bytes, isLast: true });
  });
}

type AttestedTree = TarredTree & Pick<ExportedImage, 'attestations'>;

/** Trees with what is said of them among their files, until that is disposed of. */
async function placedTrees(
  deps: ExportDeps,
  trees: readonly AttestedTree[],
  signal: AbortSignal,
): Promise<AsyncDisposable & { trees: TarredTree[] }> {
  const placed: StatementFiles[] = [];
  const remove = async (): Promise<void> => {
    await Promise.all(placed.map((each) => each[Symbol.asyncDispose]()));
  };
  try {
    for (const { attestations, ...tree } of trees) {
      placed.push(await placeStatements(deps, tree, { attestations, signal }));
    }
  } catch (error) {
    await remove();
    throw error;
  }
  const made = trees.map((tree, position) => ({ ...tree, top: placed[position]?.directory }));
  return { trees: made, [Symbol.asyncDispose]: remove };
}

/** In the order of their folders. Throws not_implemented for several that would be one. Pure. */
function treesOf(images: readonly ExportedImage[], isSplit: boolean): AttestedTree[] {
  const isOne = images.every(({ isByPlatform }) => !isByPlatform);
  if (images.length > 1 && !isSplit) {
    throw notImplemented('platform-split=false is not supported for several platforms at once');
  }
  return images
    .map(({ layerIds, platform, epochSeconds, attestations }) => ({
      attestations,
      layerIds,
      folder: isOne || !isSplit ? undefined : formatPlatform(platform).replaceAll('/', '_'),
      mtime: epochSeconds === undefined ? undefined : { seconds: epochSeconds, nanoseconds: 0 },
    }))
    .toSorted((a, b) => ((a.folder ?? '') < (b.folder ?? '') ? -1 : 1));
}

/** Sends a tarball as it comes. */
export async function sendTarball(
  { session, target, signal }: Pick<ExportTo, 'session' | 'target' | 'signal'>,
  tar: AsyncIterable<Buffer>,
  vertex: Vertex,
): Promise<void> {
  let current = 0;
  async function* counted(): AsyncGenerator<Buffer> {
    for await (const piece of tar) {
      yield piece;
      current += piece.length;
      vertex.progress('sending tarball', { current });
    }
  }
  failpoint('build.export.tarball');
  await session.sendBytes(target, counted(), signal);
  vertex.progress('sending tarball', { current, isLast: true });
}
