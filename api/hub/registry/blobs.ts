import { pipeline } from 'node:stream/promises';
import { errnoOf } from '../../../daemon/base/errors.ts';
import { admitPull, answerEmpty, header, type Exchange } from './exchange.ts';
import { readRange } from './range.ts';
import { sendRange } from './send-range.ts';

interface BlobName {
  name: string;
  digest: string;
}

/** `HEAD`: whether a blob is there, and how large. */
export async function headBlob({ res, session }: Exchange, { name, digest }: BlobName): Promise<void> {
  const size = await session.blobSize(name, digest);
  res.setHeader('Content-Length', size);
  describe(res, digest);
  res.end();
}

/** `GET`, whole or a part. What is sent goes from the disk to the client in pieces, as fast as that takes them. */
export async function getBlob(exchange: Exchange, { name, digest }: BlobName): Promise<void> {
  const { req, res, session } = exchange;
  admitPull(exchange);
  await using blob = await session.openBlob(name, digest);
  describe(res, digest);
  if (header(req, 'if-none-match') === `"${digest}"`) {
    answerEmpty(res, 304);
    return;
  }
  const range = readRange(header(req, 'range'), blob.size);
  if (range === 'unsatisfiable') {
    answerEmpty(res, 416, { 'Content-Range': `bytes */${blob.size}` });
    return;
  }
  const { start, end } = range ?? { start: 0, end: blob.size - 1 };
  res.statusCode = range === undefined ? 200 : 206;
  if (range !== undefined) {
    res.setHeader('Content-Range', `bytes ${start}-${end}/${blob.size}`);
  }
  res.setHeader('Content-Length', end - start + 1);
  if (end < start) {
    res.end();
    return;
  }
  try {
    const read = blob.read?.bind(blob);
    await (read === undefined
      ? pipeline(blob.stream(start, end), res)
      : sendRange({ digest, size: blob.size, read }, { start, end }, res));
  } catch (error) {
    // A client that has what it wants, or goes away, hangs up.
    if (errnoOf(error) !== 'ERR_STREAM_PREMATURE_CLOSE') {
      throw error;
    }
  }
}

/** `DELETE`. */
export async function deleteBlob({ res, session }: Exchange, { name, digest }: BlobName): Promise<void> {
  session.admit('registry_push');
  await session.deleteBlob(name, digest);
  answerEmpty(res, 202);
}

function describe(res: Exchange['res'], digest: string): void {
  res.setHeader('Content-Type', 'application/octet-stream');
  res.setHeader('Docker-Content-Digest', digest);
  res.setHeader('ETag', `"${digest}"`);
  res.setHeader('Accept-Ranges', 'bytes');
}
