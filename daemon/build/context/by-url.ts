import type { Hash } from 'node:crypto';
import { Readable } from 'node:stream';
import { download, showUrl } from '../../../storage/downloads/download.ts';
import { failpoint } from '../../base/failpoint.ts';
import { receiveStream, type ArchiveSpools, type CameAsStream, type StreamKind } from './archive.ts';

/**
 * A context by HTTP: a tar, compressed or not, or a Dockerfile. `kindOf` says by the server's `Content-Type` (`''` =
 * none) what it is taken for; what it throws ends the download. `hash` takes the bytes as they come. Throws as
 * `download` and `receiveStream`.
 */
export async function receiveUrl(
  spools: ArchiveSpools,
  url: URL,
  {
    kindOf,
    hash,
    ...options
  }: {
    hash?: Hash;
    signal: AbortSignal;
    came?: (bytes: number) => void;
    kindOf: (contentType: string) => StreamKind;
  },
): Promise<CameAsStream> {
  failpoint('build.context.url');
  const { headers, body } = await download(url, options.signal);
  try {
    const kind = kindOf(headers['content-type'] ?? '');
    return await receiveStream(spools, hash ? hashed(body, hash) : body, {
      what: showUrl(url),
      kind,
      ...options,
    });
  } finally {
    body.destroy();
  }
}

/** The same bytes, counted in on their way. */
function hashed(body: Readable, hash: Hash): Readable {
  return Readable.from(
    (async function* (): AsyncGenerator<Buffer> {
      // Nobody sets an encoding: its pieces are Buffers.
      for await (const chunk of body as AsyncIterable<Buffer>) {
        hash.update(chunk);
        yield chunk;
      }
    })(),
  );
}
