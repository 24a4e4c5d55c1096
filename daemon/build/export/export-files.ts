import type { Readable } from 'node:stream';
import type { BuildSession, SendTarget } from '../../../api/types/build/session.ts';
import { failpoint } from '../../base/failpoint.ts';
import type { Vertex, Vertices } from '../control/vertices.ts';
import type { ExportedImage } from './exported-image.ts';
import type { ExportDeps } from './ports.ts';
import { sendFiles } from './send-files.ts';
import { withTreeTar } from './tree-tar.ts';

export interface ExportTo {
  session: BuildSession;
  target: SendTarget;
  vertices: Vertices;
  signal: AbortSignal;
}

/** Gives the files of an image to the client, which makes them in a directory of its user's, or keeps their tar. */
export async function exportFiles(
  deps: ExportDeps,
  { layerIds, epochSeconds }: Pick<ExportedImage, 'layerIds' | 'epochSeconds'>,
  kind: 'local' | 'tar',
  { session, target, vertices, signal }: ExportTo,
): Promise<void> {
  const name = kind === 'local' ? 'exporting to client directory' : 'exporting to client tarball';
  const mtime = epochSeconds === undefined ? undefined : { seconds: epochSeconds, nanoseconds: 0 };
  await vertices.run(name, async (vertex) => {
    await withTreeTar(deps, { layerIds, mtime }, async (tar) => {
      if (kind === 'tar') {
        await sendTarball({ session, target, signal }, tar, vertex);
        return;
      }
      await using sending = session.sendFiles(target, signal);
      let bytes = 0;
      await sendFiles(
        deps.spools,
        { tar, sending },
        {
          signal,
          sent: (current) => {
            bytes = current;
            vertex.progress('copying files', { current });
          },
        },
      );
      vertex.progress('copying files', { current: bytes, isLast: true });
    });
  });
}

/** Sends a tarball as it comes. */
export async function sendTarball(
  { session, target, signal }: Pick<ExportTo, 'session' | 'target' | 'signal'>,
  tar: AsyncIterable<Buffer> | Readable,
  vertex: Vertex,
): Promise<void> {
  let current = 0;
  async function* counted(): AsyncGenerator<Buffer> {
    // Nobody sets an encoding: pieces of a stream are Buffers.
    for await (const piece of tar as AsyncIterable<Buffer>) {
      yield piece;
      current += piece.length;
      vertex.progress('sending tarball', { current });
    }
  }
  failpoint('build.export.tarball');
  await session.sendBytes(target, counted(), signal);
  vertex.progress('sending tarball', { current, isLast: true });
}
