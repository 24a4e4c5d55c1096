import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Logger } from '../../daemon/base/logger.ts';
import type { FlatHeaders, Reply } from '../pipeline/reply.ts';

/** A tarball. If making it fails half-way the connection is cut: no client may take half an image for a whole one. */
export async function sendTar(
  reply: Reply,
  tar: { bytes: Readable; contentType?: string; headers?: FlatHeaders },
  log: Logger,
): Promise<void> {
  const res = reply.begin(tar.contentType ?? 'application/x-tar', tar.headers);
  try {
    await pipeline(tar.bytes, res);
  } catch (error) {
    log.info({ err: error }, 'tar stream ended early');
  }
}
